"""Runs the how-to guides as printed: their code blocks become an installed package, their commands run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from plug_in import write_plug_in

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
BLOCK = re.compile(r'^```(?P<kind>\w+)?(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Guide:
    """A how-to page whose package is installed in a folder."""

    folder: Path
    commands: tuple[str, ...]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `equipoise` where the page's package is installed."""
        return self._python("-m", "equipoise", *words)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run code where the page's package is installed."""
        return self._python("-c", code)

    def _python(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), *filter(None, sys.path)])}
        command = [sys.executable, *words]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )


def section(page: str, heading: str) -> str:
    """Return a page, or what is under one of its headings of the second level."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    if not heading:
        return text
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[heading]


def install(page: str, heading: str, folder: Path) -> Guide:
    """Return the page's guide: files named by title or first line, entry points, and commands without comments."""
    points, commands = [], []
    for block in BLOCK.finditer(section(page, heading)):
        kind, title, text = block["kind"], block["title"], block["text"]
        first = re.match(r"# (\S+\.py)\n", text)
        if title or first:
            (folder / (title or first[1])).write_text(text, encoding="utf-8")  # type: ignore[index]
        elif kind == "toml":
            points.append(re.sub(r'\[project\.entry-points\."(.*?)"\]', r"[\1]", text).replace('"', ""))
        elif kind is None:
            commands += [line.partition("#")[0].strip() for line in text.splitlines() if line.startswith("equipoise ")]
    write_plug_in(folder, "how-to", "\n".join(points))
    return Guide(folder, tuple(commands))


@pytest.fixture
def guide(tmp_path: Path) -> Callable[..., Guide]:
    """Return a function that installs the package of a how-to page, or of one section."""
    return lambda page, heading="": install(page, heading, tmp_path)
