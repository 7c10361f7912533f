"""Which loader reads a path: of several that would take it the first, and with which options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import equipoise.datasets as module
from equipoise.datasets import open_dataset
from equipoise.options import DatasetOptions
from equipoise.records import DatasetError

KINDS = ("is_template_file", "is_bbq", "is_stereoset", "is_discrim_eval", "is_pair_table", "_is_synthbias_csv")
LOADERS = {
    "load_templates": "is_template_file",
    "load_bbq": "is_bbq",
    "load_stereoset": "is_stereoset",
    "load_discrim_eval": "is_discrim_eval",
    "load_sentence_pairs": "is_pair_table",
    "load_winogender": "",
    "load_table": "",
    "load_synthbias": "_is_synthbias_csv",
    "load_winobias": "",
}
TABLE = SimpleNamespace(columns=("a", "b"))


class Routes:
    """What a path is taken for (`true`), and by which loader it was read, with what."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.true: set[str] = set()
        for kind in KINDS:
            monkeypatch.setattr(module, kind, lambda *_, kind=kind: kind in self.true)
        for loader in LOADERS:
            monkeypatch.setattr(module, loader, lambda *given, loader=loader, **named: (loader, given, named))
        monkeypatch.setattr(module, "read_rows", lambda path: TABLE)

    def taken(self, path: Path, *true: str, **options: Any) -> Any:
        self.true = set(true)
        return module._open_path(path, DatasetOptions(**options))


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Routes:
    return Routes(monkeypatch)


def test_the_first_that_takes_a_table_reads_it(routes: Routes, tmp_path: Path) -> None:
    path = tmp_path / "mine.CSV"
    path.write_text("")
    expected: list[tuple[str, Any, Any]] = [
        ("load_templates", (path,), {}),
        ("load_bbq", (path,), {"as_published": True}),
        ("load_stereoset", (path,), {}),
        ("load_discrim_eval", (TABLE,), {"name": "mine"}),
        ("load_sentence_pairs", (TABLE, {}), {}),
        ("load_synthbias", (path,), {}),
    ]
    for place, route in enumerate(expected):
        assert routes.taken(path, *KINDS[place:], as_published=True) == route
    assert routes.taken(path) == ("load_table", (TABLE, {}), {"pronouns": ("he", "she")})
    columns = {"text": "a"}
    assert routes.taken(path, *KINDS, columns=columns) == ("load_sentence_pairs", (TABLE, columns), {})
    others = set(KINDS) - {"is_pair_table"}
    plain = ("load_table", (TABLE, columns), {"pronouns": ("he", "they")})
    assert routes.taken(path, *others, columns=columns, pronouns=("he", "they")) == plain


@pytest.mark.parametrize("kind", ["is_stereoset", "is_pair_table", "_is_synthbias_csv"])
def test_sentences_with_he_and_she_only_are_asked_for_no_others(kind: str, routes: Routes, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("")
    sentence = f"^{path} has sentences with he and she only, none with they, xe$"
    with pytest.raises(DatasetError, match=sentence):
        routes.taken(path, kind, pronouns=("xe", "she", "they"))


def test_folders_and_text_files(routes: Routes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_text_format", lambda path: "text" in routes.true)
    folder = tmp_path / "My Set! 2"
    folder.mkdir()
    published = {"name": "my-set-2", "as_published": False}
    assert routes.taken(folder, "text") == ("load_winobias", (folder,), published)
    (folder / "some.txt").write_text("")
    assert routes.taken(folder / "some.txt", "text") == ("load_winobias", (folder / "some.txt",), published)
    odd = tmp_path / "!!"
    odd.mkdir()
    assert routes.taken(odd, "text")[2]["name"] == "folder"
    with pytest.raises(DatasetError, match=r"is neither a table \(.*\) nor in WinoBias's format \(files such as pro_"):
        routes.taken(folder)
    with pytest.raises(DatasetError, match=r": is not a table, so it has no columns to name$"):
        routes.taken(folder, "text", columns={"text": "a"})
    with pytest.raises(DatasetError, match=r"has sentences with he and she only, none with they$"):
        routes.taken(folder, "text", pronouns=("they",))
    named = tmp_path / "type1-pro.txt"
    named.mkdir()
    assert routes.taken(named, "text")[0] == "load_winobias", "a folder is known by what is in it"
    for number, name in enumerate(("type2-anti.txt", "winobias_format", module.CSV_NAME)):
        inside = tmp_path / f"folder{number}"
        inside.mkdir()
        (inside / name).write_text("")
        assert routes.taken(inside, "text") == ("load_synthbias", (inside,), {})
        if name.endswith(".txt"):
            assert routes.taken(inside / name, "text") == ("load_synthbias", (inside / name,), {})
    for name in ("type3-pro.txt", "type1-pro.txt.dev", "atype1-pro.txt"):
        (tmp_path / name).write_text("")
        assert routes.taken(tmp_path / name, "text")[0] == "load_winobias"
    (folder / module.WINOGENDER_SENTENCES).parent.mkdir(parents=True, exist_ok=True)
    (folder / module.WINOGENDER_SENTENCES).write_text("")
    assert routes.taken(folder, "is_stereoset")[0] == "load_stereoset"
    assert routes.taken(folder, pronouns=("they",)) == ("load_winogender", (folder,), {"pronouns": ("they",)})
    with pytest.raises(DatasetError, match=r": is not a table, so it has no columns to name$"):
        routes.taken(folder, columns={"text": "a"})


def test_what_is_there_is_opened_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    some = open_dataset("builtin", DatasetOptions(limit=1))
    monkeypatch.setattr(module, "_open_path", lambda path, options: replace(some, name=path.name))
    (tmp_path / "my own four words.csv").write_text("")
    assert open_dataset("my own four words.csv").name == "my own four words.csv"
    with pytest.raises(DatasetError, match=r"^'no such four words\.csv' is a sentence, not a dataset; to ask about"):
        open_dataset("no such four words.csv")
    with pytest.raises(DatasetError, match=r"^three words\.csv: no such file or folder$"):
        open_dataset("three words.csv")


def test_a_named_csv_of_pairs_is_read_from_its_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(module, "find_dataset_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(module, "file_faults", lambda card, folder: [f"fault of {card.name}"])
    dataset = replace(open_dataset("builtin", DatasetOptions(limit=1)), faults=("own",))  # type: ignore[arg-type]
    monkeypatch.setattr(module, "load_sentence_pairs", lambda *given, **named: asked.append((*given, named)) or dataset)
    for name in module.PAIR_DATASETS:
        card = module.card_of(name)
        opened = module.DATASETS[name](DatasetOptions())
        assert opened.faults == (f"fault of {name}", "own")
        path = tmp_path / name / card.files[0].path
        assert asked.pop() == (path, {"name": name, "licence": card.licence})


def test_named_datasets_are_read_from_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(module, "find_dataset_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(module, "file_faults", lambda card, folder: [f"fault of {card.name} in {folder.name}"])
    dataset = replace(open_dataset("builtin", DatasetOptions(limit=1)), faults=("own",))  # type: ignore[arg-type]
    for loader in ("load_winobias", "load_synthbias", "load_winogender", "load_bbq"):
        name = loader.removeprefix("load_")
        monkeypatch.setattr(module, loader, lambda *given, **named: asked.append((*given, named)) or dataset)
        options = DatasetOptions(as_published=True, pronouns=("he", "they") if name == "winogender" else ("he", "she"))
        opened = module.DATASETS[name](options)
        assert opened.faults == (f"fault of {name} in {name}", "own")
        expected: dict[str, Any] = {
            "winobias": {"as_published": True},
            "synthbias": {},
            "winogender": {"pronouns": ("he", "they")},
            "bbq": {"category": "", "as_published": True},
        }[name]
        assert asked.pop() == (tmp_path / name, expected)
    assert open_dataset("bbq:Age").faults == ("fault of bbq in bbq", "own")
    assert asked.pop() == (tmp_path / "bbq", {"category": "Age", "as_published": False})
