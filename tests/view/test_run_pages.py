"""The page of a run: the one in its folder where it is ours, else one made from its tables."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from equipoise.report import run_page
from equipoise.runs.folder import RunFolder
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.runs.run import Run
from equipoise.view.run_pages import stored_page


def test_a_page_of_this_version_is_shown_as_it_is_and_any_other_is_made_anew(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(some_runs / "suite" / "alpha", folder)
    assert stored_page(folder) == (folder / "report.html").read_bytes()
    old = (folder / "report.html").read_bytes().replace(b'"use strict"', b"'use strict'")
    RunFolder(folder).add({"report.html": old})
    assert stored_page(folder) == run_page(Run(folder)).encode()


def test_a_stored_page_is_given_byte_for_byte_and_one_that_is_missing_is_made(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(some_runs / "suite" / "alpha", folder)
    own = (folder / "report.html").read_bytes().replace(b"<title>", b"<title>Kept: ")
    RunFolder(folder).add({"report.html": own})
    assert stored_page(folder) == own != run_page(Run(folder)).encode()
    manifest = read_manifest(folder)
    files = {name: digest for name, digest in manifest.files.items() if name != "report.html"}
    write_manifest(folder, replace(manifest, files=files))
    assert stored_page(folder) == run_page(Run(folder)).encode()
