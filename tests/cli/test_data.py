"""`equipoise data`: list, show, check and fetch."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from noted import noted, said
from test_errors import HE, HEADER, refused

from equipoise.datasets import CARDS, open_dataset
from equipoise.datasets.dataset import Dataset, Fault
from equipoise.datasets.identity import NAME as IDENTITY
from equipoise.datasets.identity import identity_counts, identity_dataset, recipe
from equipoise.records import Example

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_datasets_are_listed_with_licence_and_place(forked: Command, tmp_path: Path) -> None:
    place = {"EQUIPOISE_DATA": str(tmp_path), "EQUIPOISE_CACHE": str(tmp_path / "cache")}
    lines = forked("data", "list", cwd=tmp_path, **place).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(CARDS)
    assert "CC0-1.0" in lines[1] and "in the package" in lines[1]
    (winobias,) = [line for line in lines if line.split()[0] == "winobias"]
    assert "equipoise data fetch winobias" in winobias
    (marked,) = [line for line in lines if line.split()[0] == "winoidentity"]
    assert "made from winobias: to get it: equipoise data fetch winobias" in marked, "only its markers are here"
    fetched = forked("data", "fetch", "winoidentity", cwd=tmp_path, **place).stdout
    assert fetched == "winoidentity is made from winobias: to get it: equipoise data fetch winobias\n"


def test_a_dataset_is_shown(forked: Command, tmp_path: Path) -> None:
    shown = forked("data", "show", "builtin", cwd=tmp_path).stdout
    assert "1,020 in 510 sets" in shown and "CC0-1.0" in shown and "female 510, male 510" in shown
    assert shown.count("  e.g. ") == 4


def test_the_built_in_sentences_have_no_faults(forked: Command, tmp_path: Path) -> None:
    assert forked("data", "check", "builtin", cwd=tmp_path).stdout.endswith("no faults found\n")


def test_a_check_tells_what_is_wrong_and_where(forked: Command, tmp_path: Path) -> None:
    rows = "\n".join(HE.replace("baker", name) for name in ("baker", "tailor", "cook", "clerk", "guard", "farmer"))
    (tmp_path / "mine.csv").write_text(f"{HEADER}\n{rows}\n")
    short = forked("data", "check", "mine.csv", cwd=tmp_path)
    assert short.returncode == 0 and "mine: 6 examples, 0 sets can be compared" in short.stdout
    assert "mine.csv:2: no row differs from it only in the pronoun" in short.stdout
    assert "and 1 more (--all lists them)" in short.stdout and "mine.csv:7" not in short.stdout
    assert "mine.csv:7" in forked("data", "check", "mine.csv", "--all", cwd=tmp_path).stdout


def test_fetching_what_is_here_names_the_licence_first(
    forked: Command, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(real_data("winobias"), tmp_path / "winobias"))
    result = forked("data", "fetch", "winobias", "--to", folder, cwd=tmp_path, EQUIPOISE_MIRROR="http://127.0.0.1:9")
    assert (result.returncode, result.stderr) == (0, "")
    assert "licence: MIT" in result.stdout.splitlines()[1] and result.stdout.endswith(f"winobias is in {folder}\n")


def test_fetching_without_a_network_is_one_sentence(forked: Command, tmp_path: Path) -> None:
    mirror = {"EQUIPOISE_MIRROR": "http://127.0.0.1:9", "EQUIPOISE_CACHE": str(tmp_path)}
    result = forked("data", "fetch", "winobias", cwd=tmp_path, **mirror)
    assert "127.0.0.1:9" in refused(result) and "licence: MIT" in result.stdout
    assert "nothing to fetch" in forked("data", "fetch", "builtin", cwd=tmp_path).stdout


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the notes of what is opened: five sentences in two sets, with seven faults of two kinds."""
    faults = [Fault(f"mine.csv:{at}", "odd" if at < 6 else "even", "is odd", "left out") for at in range(7)]
    golds, people = (0, 1, 0, 1, None), ("a", "b")
    examples = [
        Example(f"e{at}", f"Sentence  {at}\x07.", people, gold, gold is not None, None, {"type": "x"}, "s")
        for at, gold in enumerate(golds)
    ]
    dataset = Dataset("mine\x07", tuple(examples), source="a file", faults=tuple(faults), licence="CC0")
    return noted(monkeypatch, "equipoise.datasets.open_dataset", dataset)


def test_a_table_of_one_s_own_is_shown_with_its_facts(opened: Any) -> None:
    out, _ = said("data", "show", "my file.csv", "--columns", "text=a b", "--columns", "gold=c")
    (((name, options), _),) = opened
    assert name == "my file.csv" and options.columns == {"text": "a b", "gold": "c"}
    lines = out.splitlines()
    mark = "\N{REPLACEMENT CHARACTER}"
    assert lines[0] == f"mine{mark}: a file"
    assert lines[1].startswith("  examples   5 in ") and "sha256 " in lines[1] and lines[2] == "  type       x 5"
    given = "--columns 'text=a b' --columns gold=c"
    assert lines[3] == f"  faults     7 (equipoise data check 'my file.csv' {given})"
    assert lines[4:] == [
        f"  e.g.       Sentence {at}{mark}. (a | b: {gold})" for at, gold in ((0, "a"), (1, "b"), (2, "a"), (3, "b"))
    ]


@pytest.mark.parametrize("every", [False, True])
def test_faults_are_listed_by_kind_the_first_five_or_all(opened: Any, every: bool) -> None:
    out, _ = said("data", "check", "mine.csv", *["--all"] * every)
    head, *lines = out.splitlines()
    assert head.startswith("mine\N{REPLACEMENT CHARACTER}: 5 examples, ") and head.endswith(" can be compared")
    rows = [f"  mine.csv:{at}: is odd; left out" for at in range(7)]
    more = [] if every else ["  … and 1 more (--all lists them)"]
    assert lines == ["", "odd (6)", *rows[: 6 if every else 5], *more, "", "even (1)", rows[6]]


def test_one_example_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset("builtin").limited(1)
    noted(monkeypatch, "equipoise.datasets.open_dataset", dataset)
    assert said("data", "check", "x")[0].startswith("builtin: 2 examples, 1 set can be compared\nno faults found")
    one = Dataset("one", dataset.examples[:1])
    noted(monkeypatch, "equipoise.datasets.open_dataset", one)
    assert said("data", "check", "x")[0].startswith("one: 1 example, ")


def test_every_option_of_an_export_is_handed_on(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    written = noted(monkeypatch, "equipoise.exports.dataset_files.export_dataset", ["a.csv", "b\x07.csv"])
    words = ("--limit", "3", "--neutral", "person", "--base", "builtin", "--augment", "R", "--attributes", "age")
    more = ("--columns", "text=a", "--where", "x=y")
    out, _ = said("data", "export", "mine", "--out", "there", "--private", *words, *more)
    (((name, options), _),) = opened
    assert (name, options.limit, options.base, options.neutral) == ("mine", 3, "builtin", "person")
    assert (list(options.augment), list(options.attributes)) == (["R"], ["age"])
    (((_, place), named),) = written
    assert place == Path("there") and named["private"] is True and "columns" not in named["made_with"]
    assert named["made_with"]["limit"] == 3 and named["made_with"]["where"] == ["x=y"]
    mark = "\N{REPLACEMENT CHARACTER}"
    assert out == f"5 examples of mine{mark} (CC0):\n  a.csv\n  b{mark}.csv\n"
    assert said("data", "export", "mine", "--out", "there", "--quiet") == ("", "") and not written[1][1]["private"]


def test_what_is_fetched_is_told_with_its_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = noted(monkeypatch, "equipoise.datasets.fetch", Path("there"), hide=("report",))
    card = CARDS["winobias"]
    out, _ = said("data", "fetch", "winobias", "--to", "here")
    licence = f"  licence: {card.licence} ({card.licence_url})\n  from:    {card.home}"
    assert out == f"{card.title}\n{licence}\nwinobias is in there\n"
    assert said("data", "fetch", "winobias", "--quiet") == ("", "") == said("data", "fetch", "builtin", "--quiet")
    assert fetched == [((card,), {"to": Path("here")}), ((card,), {"to": None})]
    assert said("data", "fetch", "builtin") == ("builtin is in the package; there is nothing to fetch\n", "")


def test_documents_are_made_and_what_is_doubtful_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [SimpleNamespace(is_asked=at < 2, doubts=[f"d{at}"] * (at != 1)) for at in range(3)]
    made = noted(monkeypatch, "equipoise.builder.documents.make", documents)
    out, _ = said("data", "make", "docs", "--slots", "s.toml", "--out", "my made.toml", "--column", "text")
    assert made == [((Path("docs"), Path("s.toml"), Path("my made.toml")), {"column": "text"})]
    assert out.splitlines() == [
        "my made.toml: 2 of 3 documents can be asked.",
        *("", "Look at these; they are asked as they are:", "  d0"),
        *("", "Decide these; they are not asked:", "  d2"),
        *("", "To see what will be asked: equipoise data show 'my made.toml'"),
    ]
    assert said("data", "make", "docs", "--slots", "s.toml", "--quiet") == ("", "")
    assert made[1] == ((Path("docs"), Path("s.toml"), Path("made.toml")), {"column": ""})
    noted(monkeypatch, "equipoise.builder.documents.make", documents[1:2])
    assert len(said("data", "make", "docs", "--slots", "s.toml")[0].splitlines()) == 3


def test_a_group_without_a_command_shows_its_help() -> None:
    assert said("data")[0].startswith("Usage: ")


def test_marked_sentences_are_shown_with_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = identity_dataset(open_dataset("builtin").limited(20), recipe())
    noted(monkeypatch, "equipoise.datasets.open_dataset", dataset)
    shown, other = (
        {" ".join(line.split()) for line in said("data", "show", name)[0].splitlines()}
        for name in (IDENTITY, "builtin")
    )
    counts = {f"{name} {text}" for name, text in identity_counts(dataset)}
    assert counts and counts <= shown and not counts & other
