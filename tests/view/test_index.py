"""The list of runs: what it says, when it is read again, and what it never reads."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.records import EquipoiseError, Estimate, FirstResults, Measurement
from equipoise.run import audit, remeasure
from equipoise.runs.manifest import read_manifest, write_manifest
from equipoise.runs.progress_file import ProgressNotes
from equipoise.runs.run import Run
from equipoise.verdict.summary import VERDICTS, summary
from equipoise.view import index as indexing
from equipoise.view.index import DAMAGED, FINISHED, Index, listed_rows, run_places, slug_of


def looked(index: Index) -> Index:
    """Return the index after a look at the disk, however little time has passed."""
    index._looked = float("-inf")
    index.look()
    return index


def test_the_list_has_the_measurements_and_the_verdict_of_every_run(some_runs: Path) -> None:
    index = Index(some_runs)
    entries = index.entries()
    assert {entry.place for entry in entries} == {f"suite/{name}" for name in ("alpha", "beta", "gamma", "delta")}
    assert [entry.date for entry in entries] == sorted((entry.date for entry in entries), reverse=True)
    while index.judge_next():
        pass
    for entry in index.entries():
        run = Run(entry.folder)
        told = dict(zip(((part.dataset, part.task) for part in run.parts), summary(run).parts, strict=True))
        for part in entry.parts:
            verdict = told[part.dataset, part.task].verdict
            assert (part.status, part.sentence) == (verdict.status, verdict.sentence)
            measured = run.measured(part.dataset, part.task)
            for metric, kinds in part.metrics.items():
                for kind, estimate in kinds.items():
                    row = measured.get(metric, type=kind)
                    assert row is not None and (row.value, row.low, row.high, row.n) == (
                        estimate.value,
                        estimate.low,
                        estimate.high,
                        estimate.n,
                    )
            assert set(part.metrics["flip_rate"]) == {"type1", "type2"}


def test_no_rows_are_read_for_the_list(some_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    content = indexing.RunFolder.content
    monkeypatch.setattr(
        indexing.RunFolder, "content", lambda self, name, manifest=None: (read.append(name), content(self, name))[1]
    )
    Index(some_runs).entries()
    assert set(read) == {"measurements.csv", VERDICTS}


def test_a_run_is_read_again_only_when_it_changed(
    some_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(some_runs / "suite" / "alpha", folder / "one")
    read: list[str] = []
    reading = indexing.read_entry
    monkeypatch.setattr(indexing, "read_entry", lambda slug, *rest: (read.append(slug), reading(slug, *rest))[1])
    index = looked(Index(folder))
    (before,) = index.entries()
    looked(index)
    assert len(read) == 1
    remeasure(folder / "one", level=0.8)
    changed, gone = looked(index).since(before.changed)
    assert len(read) == 2 and [entry.slug for entry in changed] == [before.slug] and gone == []
    shutil.copytree(some_runs / "suite" / "beta", folder / "two")
    changed, _ = looked(index).since(index.version)
    assert changed == []
    assert len(index.entries()) == 2
    shutil.rmtree(folder / "one")
    version = index.version
    assert looked(index).since(version) == ([], [before.slug])


def test_damaged_folders_are_listed_with_what_is_wrong(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for name in ("manifest", "table", "whole"):
        shutil.copytree(some_runs / "suite" / "alpha", folder / name)
    (folder / "manifest" / "manifest.json").write_text("{")
    (folder / "table" / "measurements.csv").write_text("metric\n")
    entries = {entry.place: entry for entry in Index(folder).entries()}
    assert {place: entry.state for place, entry in entries.items()} == {
        "manifest": DAMAGED,
        "table": DAMAGED,
        "whole": FINISHED,
    }
    assert "damaged" in entries["table"].note
    assert str(tmp_path) not in entries["table"].note + entries["manifest"].note, (
        "the page tells nothing of the machine"
    )


def test_links_are_not_followed(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    (folder / "real").mkdir(parents=True)
    (folder / "linked").symlink_to(some_runs / "suite" / "alpha", target_is_directory=True)
    (folder / "real" / "manifest.json").symlink_to(some_runs / "suite" / "alpha" / "manifest.json")
    (folder / ".hidden").mkdir()
    shutil.copytree(some_runs / "suite" / "alpha", folder / ".hidden" / "run")
    assert list(run_places(folder)) == []


@pytest.mark.parametrize("most", [1, 2, 4])
def test_no_more_folders_are_opened_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    for number in range(6):
        (tmp_path / f"{number}").mkdir()
    opened = []
    monkeypatch.setattr(indexing, "MOST_FOLDERS", most)
    scan = indexing.os.scandir
    monkeypatch.setattr(indexing.os, "scandir", lambda place: (opened.append(place), scan(place))[1])
    assert list(run_places(tmp_path)) == [] and len(opened) == most


def test_names_in_addresses_are_plain_and_apart(tmp_path: Path) -> None:
    names = ["a b", "a-b", "a/b", "ä<script>", "..a", "a" * 200, "UPPER", "upper"]
    slugs = [slug_of(tmp_path / name, tmp_path) for name in names]
    assert len(set(slugs)) == len(names)
    assert all(slug == slug.lower() and "/" not in slug and "<" not in slug and len(slug) < 80 for slug in slugs)
    assert slug_of(tmp_path, tmp_path).startswith(tmp_path.name.strip("-._").lower()[:5])


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EquipoiseError, match="not a folder"):
        Index(tmp_path / "missing")


def test_rows_that_are_not_numbers_are_left_out(some_runs: Path) -> None:
    content = (some_runs / "suite" / "alpha" / "measurements.csv").read_bytes()
    whole = list(listed_rows(content))
    lines = content.splitlines(keepends=True)
    assert len(
        list(listed_rows(b"".join([*lines, b"ucerf,m,d,t,all,nan,,,0.95,3,higher,x,,\n", b"ucerf,short\n"])))
    ) == len(whole)


def test_a_false_file_of_verdicts_is_not_believed_blindly(some_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(some_runs / "suite" / "alpha", tmp_path / "run")
    (tmp_path / "run" / VERDICTS).write_text(json.dumps([{"dataset": "builtin"}]))
    (entry,) = Index(tmp_path).entries()
    assert all(part.status == "" for part in entry.parts), "it is not the file that the manifest names"


@pytest.mark.slow
def test_a_run_that_stopped_says_so(tmp_path: Path) -> None:
    class Ended(Exception):
        pass

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("builtin") and done:
            raise Ended

    with pytest.raises(Ended):
        audit("planted", out=tmp_path / "run", progress=stop, limit=40)
    (entry,) = Index(tmp_path).entries()
    assert entry.state == "stopped" and [part.dataset for part in entry.parts][:1] == ["builtin"]


def test_a_run_that_is_going_says_what_it_knows_so_far(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(some_runs / "suite" / "alpha", folder)
    write_manifest(folder, replace(read_manifest(folder), finished=None))
    index = Index(tmp_path)
    (entry,) = index.entries()
    assert [(part.metrics, part.of) for part in entry.parts] == [({}, 0)]
    clock = iter([0.0, *[10.0] * 9])
    notes = ProgressNotes(folder, lambda *what: None, lambda: next(clock))
    values = {"flip_rate": {"type1": (0.5, 2), "type2": (0.25, 4)}, "ucerf": {}, "other": {"": (1.0, 1)}}
    notes.watch(lambda: FirstResults("builtin", "next-word", 6, 120, values))
    notes("builtin", 6, 120)
    (changed,), _ = looked(index).since(entry.changed)
    (part, *_) = changed.parts
    assert changed.state == "running" and (part.sets, part.of, part.status) == (6, 120, "")
    assert list(part.metrics["flip_rate"]) == ["type2", "type1"] and part.metrics["ucerf"] == {}
    estimate = part.metrics["flip_rate"]["type2"]
    assert (estimate.value, estimate.n, estimate.has_interval) == (0.25, 4, False)


HEAD = b"metric,model,dataset,task,group,value,low,high,level,n,better,method,p,p_corrected\n"


def measured(group: str = "all", value: str = "0.5", better: str = "lower", metric: str = "flip_rate") -> bytes:
    quoted = f'"{group}"' if "," in group else group
    return f"{metric},gpt2,builtin,mcq,{quoted},{value},0.25,,0.9,7,{better},m,,\n".encode()


def test_rows_for_all_items_and_for_a_type_are_read_whole() -> None:
    estimate = Estimate(0.5, 0.25, float("nan"), 0.9, 7, "")
    content = HEAD + measured() + measured("type=type1", better="higher") + measured("occupation=nurse,type=type1")
    content += measured("occupation=nurse") + measured(metric="accuracy") + measured("pronoun=he")
    assert list(listed_rows(content)) == [
        Measurement("flip_rate", "gpt2", "builtin", "mcq", "all", estimate, "lower"),
        Measurement("flip_rate", "gpt2", "builtin", "mcq", "type=type1", estimate, "higher"),
    ]
    assert [row.metric for row in listed_rows(content, ["accuracy"])] == ["accuracy"]
    without_end = (HEAD + measured()).rstrip(b"\n")
    assert len(list(listed_rows(without_end))) == 1, "a last line without an end is a line"
    assert list(listed_rows(HEAD)) == [] == list(listed_rows(b"")) == list(listed_rows(measured())), "a heading first"


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", ""])
def test_a_value_that_is_not_a_number_is_not_listed(value: str) -> None:
    assert list(listed_rows(HEAD + measured(value=value) + measured("type=type2"))) == list(
        listed_rows(HEAD + measured("type=type2"))
    )


def test_values_are_sorted_by_part_metric_and_type() -> None:
    content = HEAD + measured("type=type1") + measured("type=type2", value="0.75") + measured(metric="ucerf")
    content += measured(value="0.1").replace(b"mcq", b"cloze")
    values = indexing.values_of(content)
    assert list(values) == [("builtin", "mcq"), ("builtin", "cloze")]
    told = {
        part: {metric: {kind: one.value for kind, one in kinds.items()} for metric, kinds in several.items()}
        for part, several in values.items()
    }
    assert told == {
        ("builtin", "mcq"): {"flip_rate": {"type2": 0.75, "type1": 0.5}, "ucerf": {}},
        ("builtin", "cloze"): {"flip_rate": {"": 0.1}, "ucerf": {}},
    }
    assert list(told["builtin", "mcq"]["flip_rate"]) == ["type2", "type1"]
    assert list(indexing.values_of(content, ["ucerf"])["builtin", "mcq"]) == ["ucerf"]


def test_the_disk_is_looked_at_once_in_a_while(
    some_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(some_runs / "suite" / "alpha", tmp_path / "one")
    now = [1000.0]
    monkeypatch.setattr(indexing.time, "monotonic", lambda: now[0])
    index, told = Index(tmp_path), []
    index.look(lambda *what: told.append(what))
    assert told == [("reading runs", 1, 1)] and index.version == 1
    shutil.copytree(some_runs / "suite" / "beta", tmp_path / "two")
    now[0] += indexing.LOOK_EVERY / 2
    assert len(index.entries()) == 1
    now[0] += indexing.LOOK_EVERY / 2
    assert len(index.entries()) == 2 and index.version == 2
    assert index.get("nobody") is None and all(index.get(entry.slug) == entry for entry in index.entries())


def test_a_run_that_comes_back_is_not_gone(some_runs: Path, tmp_path: Path) -> None:
    shutil.copytree(some_runs / "suite" / "alpha", tmp_path / "one")
    index = looked(Index(tmp_path))
    (entry,) = index.entries()
    assert entry.changed == index.version == 1 and index.since(0) == ([entry], []) and index.since(1) == ([], [])
    shutil.move(tmp_path / "one", tmp_path.parent / "elsewhere")
    assert looked(index).since(1) == ([], [entry.slug]) and index.since(2) == ([], []) and index.version == 2
    shutil.move(tmp_path.parent / "elsewhere", tmp_path / "one")
    (again,), gone = looked(index).since(2)
    assert gone == [] and again == replace(entry, changed=3)


def test_the_runs_of_a_list_are_newest_first_then_by_place(some_runs: Path) -> None:
    assert [entry.place for entry in Index(some_runs).entries()] == [
        f"suite/{name}" for name in ("delta", "gamma", "beta", "alpha")
    ]
    entry = Index(some_runs).entries()[0]
    assert entry.title == "planted (suite/delta)" and entry.folder == some_runs / "suite" / "delta"
    assert entry.state == FINISHED and entry.note == "" and entry.date == "2026-11-17T10:03:00+00:00"


def test_the_newest_run_without_a_verdict_is_judged_first(some_runs: Path, tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        shutil.copytree(some_runs / "suite" / name, tmp_path / name)
        manifest = read_manifest(tmp_path / name)
        files = {file: digest for file, digest in manifest.files.items() if file != VERDICTS}
        write_manifest(tmp_path / name, replace(manifest, files=files))
    index = Index(tmp_path)
    assert [part.status for entry in index.entries() for part in entry.parts] == ["", ""]
    assert index.judge_next()
    beta, alpha = index.entries()
    assert beta.place == "beta" and all(part.status for part in beta.parts) and beta.changed == index.version == 3
    assert [part.status for part in alpha.parts] == [""]
    assert index.judge_next() and not index.judge_next()
    for entry in index.entries():
        verdicts = [part.verdict for part in summary(Run(entry.folder)).parts]
        assert [(part.status, part.sentence) for part in entry.parts] == [(v.status, v.sentence) for v in verdicts]


def test_a_part_that_was_not_measured_is_said_to_be_unknown(some_runs: Path) -> None:
    (entry, *_) = Index(some_runs).entries()
    other = [replace(part, dataset="other") for part in entry.parts]
    told = indexing._judged(replace(entry, parts=other), some_runs)
    assert {(part.status, part.sentence) for part in told.parts} == {
        ("unknown", "The run has no measurements of this data.")
    }
    missing = indexing._judged(replace(entry, folder=some_runs / "suite"), some_runs)
    assert missing.state == DAMAGED and missing.note and str(some_runs) not in missing.note
    assert not indexing._lacks_verdict(replace(entry, parts=told.parts))
    mixed = [told.parts[0], replace(told.parts[0], status="")]
    assert indexing._lacks_verdict(replace(entry, parts=mixed))


def test_a_folder_that_is_a_run_itself_has_its_own_name(some_runs: Path) -> None:
    folder = some_runs / "suite" / "alpha"
    (entry,) = Index(folder).entries()
    assert entry.place == "alpha" and entry.slug.startswith("alpha-") and entry.slug == slug_of(folder, folder)
    assert slug_of(some_runs / "suite" / "alpha", some_runs).startswith("suite")
    assert indexing._stamp(some_runs) == () and len(indexing._stamp(folder)) == 3


def test_paths_are_told_as_seen_from_the_folder_of_all(tmp_path: Path) -> None:
    text = f"{tmp_path}/a/b and {tmp_path} and {tmp_path}"
    assert indexing._within(text, tmp_path) == "a/b and . and ."


def test_runs_are_found_in_order_below_runs_too(some_runs: Path, tmp_path: Path) -> None:
    for place in ("b", "a", "a/inner"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "manifest.json").write_text("{}")
    (tmp_path / "c" / "manifest.json").mkdir(parents=True)
    assert [place.relative_to(tmp_path).as_posix() for _, place in run_places(tmp_path)] == ["b", "a", "a/inner"]
    assert list(run_places(tmp_path / "missing")) == []


def test_what_a_run_was_checked_with_is_not_listed_beside_it(some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(some_runs / "suite" / "alpha", folder)
    manifest = read_manifest(folder)
    control = {indexing.CONTROL_NAME: manifest.datasets["builtin"]}
    for datasets, listed in ((manifest.datasets | control, ["builtin"]), (control, [indexing.CONTROL_NAME])):
        write_manifest(folder, replace(manifest, finished=None, datasets=datasets))
        (entry,) = Index(tmp_path).entries()
        assert (entry.state, [part.dataset for part in entry.parts]) == ("stopped", listed)
        assert entry.date == manifest.started


@pytest.mark.parametrize("change", ["changed", "gone"])
def test_a_verdict_is_not_kept_of_a_run_that_changed_or_went_meanwhile(
    some_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    shutil.copytree(some_runs / "suite" / "alpha", tmp_path / "alpha")
    manifest = read_manifest(tmp_path / "alpha")
    files = {file: digest for file, digest in manifest.files.items() if file != VERDICTS}
    write_manifest(tmp_path / "alpha", replace(manifest, files=files))
    index = Index(tmp_path)
    (entry,) = index.entries()

    def judged(known: indexing.Entry, _below: Path) -> indexing.Entry:
        index._stamps.pop(known.slug)
        if change == "changed":
            index._stamps[known.slug] = indexing._stamp(tmp_path)
        else:
            index._entries.pop(known.slug)
        return replace(known, note="judged")

    monkeypatch.setattr(indexing, "_judged", judged)
    assert index.judge_next()
    assert list(index._entries.values()) == ([entry] if change == "changed" else [])


def test_lines_that_begin_with_a_name_are_found_whole() -> None:
    content = b'flips,0\nx,"\nflips,1\nflips,2\n\nflip,3\nx flips,4\n"flips",5\nflips,6'
    assert list(indexing._lines(content, b"flips")) == [b"flips,1\n", b"flips,2\n", b"flips,6\n"]
    assert list(indexing._lines(content, b"x")) == [b'x,"\n', b"x flips,4\n"]
    assert list(indexing._lines(content, b"y")) == [] == list(indexing._lines(b"", b"x"))
