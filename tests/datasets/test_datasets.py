"""open_dataset: a name or a path, and what is said when it is neither."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from equipoise.datasets import DATASETS, open_dataset, open_datasets
from equipoise.datasets.cards import CARDS
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError

PRO, ANTI = "1 The cook met [the nurse] and saw [her].\n", "1 The cook met [the nurse] and saw [him].\n"
TABLE = "text,pronoun,a,b\nThe cook saw the nurse and he left.,he,cook,nurse\n"


def message(spec: str | Path, **options: Any) -> str:
    with pytest.raises(DatasetError) as error:
        open_dataset(spec, DatasetOptions(**options))
    return str(error.value)


def test_every_dataset_with_a_name_has_a_card() -> None:
    assert set(DATASETS) == set(CARDS)


@pytest.mark.parametrize(("name", "examples"), [("winobias", 3168), ("synthbias", 31728)])
def test_a_name_opens_the_real_dataset_with_its_licence(real_data, name: str, examples: int) -> None:
    real_data(name)
    dataset = open_dataset(name)
    assert (dataset.name, len(dataset.examples), dataset.licence) == (name, examples, CARDS[name].licence)
    assert "another version" not in {fault.kind for fault in dataset.faults}


def test_files_that_lack_or_are_not_of_the_pinned_revision_are_reported(
    real_data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(real_data("winobias"), tmp_path / "winobias")
    changed = tmp_path / "winobias/pro_stereotyped_type1.txt.dev"
    changed.write_text(changed.read_text() + "\n")
    for label in ("pro", "anti"):
        (tmp_path / f"winobias/{label}_stereotyped_type2.txt.test").unlink()
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path))
    dataset = open_dataset("winobias")
    assert [(fault.where, fault.kind) for fault in dataset.faults[:3]] == [
        ("anti_stereotyped_type2.txt.test", "missing file"),
        ("pro_stereotyped_type1.txt.dev", "another version"),
        ("pro_stereotyped_type2.txt.test", "missing file"),
    ]
    assert len(dataset.examples) == 3168 - 2 * 396


@pytest.mark.parametrize(
    ("files", "gold"), [(("type1-pro.txt", "type1-anti.txt"), None), (("pro_type1.txt", "anti_type1.txt"), 1)]
)
def test_a_folder_or_file_in_the_text_format(tmp_path: Path, files: tuple[str, str], gold: int | None) -> None:
    folder = tmp_path / "My Set"
    folder.mkdir()
    for file, line in zip(files, (PRO, ANTI), strict=True):
        (folder / file).write_text(line)
    for spec in (folder, str(folder / files[0])):
        dataset = open_dataset(spec)
        assert dataset.name == ("synthbias" if gold is None else "my-set")
        assert [example.gold for example in dataset.examples] == [gold, gold]


def test_synthbias_is_known_by_its_columns_and_a_table_by_its_ending(tmp_path: Path) -> None:
    rows = "type1,The cook and the nurse met when {0} left.,cook,nurse,{0},ambiguous\n"
    header = "type,sample,occ_1,occ_2,pronoun,is_stereotypical\n"
    (tmp_path / "copy.csv").write_text(header + rows.format("he") + rows.format("she"))
    assert open_dataset(tmp_path / "copy.csv").name == "synthbias"
    assert open_dataset(tmp_path / "copy.csv", DatasetOptions(columns={"text": "sample"})).name == "copy"
    (tmp_path / "mine.csv").write_text(TABLE)
    assert (
        open_dataset(tmp_path / "mine.csv", DatasetOptions(columns={"candidate_1": "a", "candidate_2": "b"})).name
        == "mine"
    )


def test_what_is_not_there_or_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message("winobais").startswith("unknown dataset 'winobais'; did you mean 'winobias'?")
    assert "known: builtin, winobias, synthbias" in message("winobais")
    assert message("no.csv") == "no.csv: no such file or folder"
    assert message("a/b") == "a/b: no such file or folder"
    assert "neither a table" in message(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    assert "neither a table" in message("notes.md")


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    assert "winobias is not a table" in message("winobias", columns={"text": "x"})
    assert "synthbias has sentences with he and she only, none with they" in message(
        "synthbias", pronouns=("he", "they")
    )
    (tmp_path / "pro_type1.txt").write_text(PRO)
    (tmp_path / "anti_type1.txt").write_text(ANTI)
    assert "is not a table" in message(tmp_path, columns={"text": "x"})


SAYS: list[tuple[Any, dict[str, Any], str]] = [
    (
        "bbq:x",
        {"columns": {"text": "x"}},
        "bbq is not a table: columns can be named for a CSV, TSV, JSON or Parquet file only",
    ),
    (
        "the cook met a nurse",
        {},
        "'the cook met a nurse' is a sentence, not a dataset; to ask about it: equipoise ask 'the cook met a nurse'",
    ),
    ("a b c", {}, "unknown dataset 'a b c' (known: "),
    ("gendered", {"pronouns": ("he", "they", "xe")}, "gendered has sentences with he and she only, none with they, xe"),
    ("gendered:x", {}, "gendered has one part, control, not 'x'"),
    (
        "decisions:x",
        {},
        "unknown kind of decision 'x'; the kinds are: hiring, lending, housing, triage, moderation, service",
    ),
    ("decisions:", {}, "unknown dataset 'decisions:'"),
    ("x.csv", {}, "x.csv: no such file or folder"),
    ("a/b", {}, "a/b: no such file or folder"),
    (7, {}, "data must be a name, a path, a Dataset, a DataFrame, a list of dicts or a datasets.Dataset, not int"),
    (
        [{"sent_more": "a he", "sent_less": "a she"}],
        {"pronouns": ("he", "they")},
        "data has sentences with he and she only, none with they",
    ),
]


@pytest.mark.parametrize(("spec", "options", "reason"), SAYS)
def test_what_is_no_dataset_is_said_in_words(
    spec: Any, options: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message(spec, **options).startswith(reason)


def test_a_limit_counts_what_is_selected() -> None:
    every = open_dataset("builtin", DatasetOptions(where=("type=type1",)))
    few = open_dataset("builtin", DatasetOptions(where=("type=type1",), limit=3))
    assert few.examples == every.limited(3).examples and every.listed and few.sets == 3
    fresh = open_dataset("fresh", DatasetOptions(limit=4))
    assert (
        len(fresh.examples) == 8
        and len(open_dataset("fresh", DatasetOptions(limit=4, where=("type=type1",))).examples) == 8
    )
    rows = [
        {"text": f"The cook saw the nurse and he {word}.", "pronoun": "he", "candidates": "cook|nurse"}
        for word in ("ran", "sat")
    ]
    paired = [*rows, *({**row, "text": row["text"].replace(" he ", " she "), "pronoun": "she"} for row in rows[:1])]
    sound = open_dataset(paired, DatasetOptions(without_faults=True))
    assert len(sound.examples) == 2 and [fault.kind for fault in sound.faults] == ["sets with faults"]
    neutral = open_dataset(paired, DatasetOptions(without_faults=True, neutral="person"))
    assert neutral.name == "data-person" and not neutral.listed


def test_what_is_ours_by_its_name_is_listed(tmp_path: Path) -> None:
    rows = "The cook saw the nurse and he left.,he,cook,nurse,nurse\n"
    (tmp_path / "mine.csv").write_text(f"text,pronoun,candidate_1,candidate_2,right\n{rows}")
    markers = tmp_path / "m.toml"
    markers.write_text("[age]\nprivileged = ['young']\ndisadvantaged = ['old']\n")
    few = {"base": "builtin", "limit": 1}
    assert open_dataset("winoidentity", DatasetOptions(**few)).listed
    assert not open_dataset("winoidentity", DatasetOptions(**few, markers=str(markers))).listed
    base = {"base": str(tmp_path / "mine.csv"), "columns": {"gold": "right"}}
    assert not open_dataset("winoidentity", DatasetOptions(**base)).listed
    assert not open_dataset(tmp_path / "mine.csv").listed
    assert open_dataset("gendered:control").listed and open_dataset("decisions:hiring").listed


def test_datasets_of_one_name_are_told_apart_by_their_content() -> None:
    rows = [{"text": "The cook saw the nurse and he ran.", "pronoun": "he", "candidates": "cook|nurse"}]
    other = [{**rows[0], "text": "The cook met the nurse and he ran."}]
    first, second = (open_dataset(table) for table in (rows, other))
    several = open_datasets([first, second, "sentiment"])
    assert [one.name for one in several] == [f"data-{first.sha256[:8]}", f"data-{second.sha256[:8]}", "sentiment"]
    assert [one.name for one in open_datasets(rows)] == ["data"] and [
        one.name for one in open_datasets("sentiment")
    ] == ["sentiment"]
    assert [one.name for one in open_datasets([first, "sentiment"])] == ["data", "sentiment"]
    for nothing in ([], ()):
        with pytest.raises(DatasetError, match=r"^data has no rows and names no dataset$"):
            open_datasets(nothing)
    with pytest.raises(DatasetError, match=r"^the data data is named 2 times, with the same sentences; name it once$"):
        open_datasets([first, first])


@pytest.mark.parametrize(
    ("files", "options", "name", "count"),
    [
        ({"type1-pro.txt": PRO, "type1-anti.txt": ANTI, "notes.md": "x"}, {}, "synthbias", 2),
        ({"winobias_format/type1-pro.txt": PRO, "winobias_format/type1-anti.txt": ANTI}, {}, "synthbias", 2),
        ({"pro_type1.txt": PRO, "anti_type1.txt": ANTI, "type1-pro.txt.bak": "x"}, {}, "it-s-mine", 2),
        (
            {"all_sentences.tsv": "sentid\tsentence\ncook.guest.0.male.txt\tThe cook met the guest as he ran.\n"},
            {},
            "winogender",
            1,
        ),
        ({"Age.jsonl": ""}, {}, None, 0),
    ],
)
def test_a_folder_is_known_by_its_files(
    tmp_path: Path, files: dict[str, str], options: dict[str, Any], name: str | None, count: int
) -> None:
    folder = tmp_path / "It's mine!"
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    if name is None:
        assert message(folder).endswith("Age.jsonl: is empty")
        return
    dataset = open_dataset(folder, DatasetOptions(**options))
    assert (dataset.name, len(dataset.examples)) == (name, count)
    if name != "winogender":
        assert message(folder, pronouns=("he", "xe")).endswith("has sentences with he and she only, none with xe")
    assert "is not a table, so it has no columns to name" in message(folder, columns={"text": "x"})
