"""Own documents become a template file that an audit reads; what is doubtful is told with its file and line."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from kept_texts import assert_kept
from typer.testing import CliRunner

import equipoise
from equipoise.builder.documents import Document, _head, make, read_documents
from equipoise.builder.rules.people import Wanted
from equipoise.cli import app
from equipoise.datasets.templates import load_templates
from equipoise.records import DatasetError

HERE = Path(__file__).resolve().parent
DOCUMENTS, GROUPS = HERE / "documents", HERE / "groups.toml"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return the template file of ten documents of our own."""
    make(DOCUMENTS, GROUPS, tmp_path / "made.toml")
    return tmp_path / "made.toml"


def test_ten_documents_give_the_versions_that_a_reader_expects(made: Path) -> None:
    texts = {example.id.removeprefix("made-"): example.text for example in load_templates(made).examples}
    assert len(texts) == 12
    reference = texts["01-reference-gender-1-nonbinary"]
    assert "Robin Clark worked for us as a bookkeeper for six years. They were punctual, and their books" in reference
    assert "We gave them more and more to do, and they have never let us down." in reference
    assert "Mx Clark leaves at their own wish. We thank them and wish them well." in reference
    assert "Mr Clark leaves at his own wish. We thank him and wish him well." in texts["01-reference-gender-1-man"]
    assert texts["02-complaint-gender-1-woman"].endswith("Regards,\nRuth Baker")
    assert "They were patient, and their data was safe. She apologised" in texts["08-team-gender-1-woman"]
    assert texts["10-post-gender-1-man"].startswith("I met Simon Novak at the market. Simon sells bread")
    original = (DOCUMENTS / "01-reference.txt").read_text(encoding="utf-8").strip()
    assert texts["01-reference-gender-1-woman"] == original.replace("Emily", "Alice")


def test_what_is_left_out_is_a_comment_with_its_reasons_and_is_asked_once_decided(made: Path, tmp_path: Path) -> None:
    text = made.read_text(encoding="utf-8")
    assert "# look: 06-open-her.txt:1: 'brought her lunch' can mean 'him' or 'his'\n# not asked" in text
    block = text.split("# look: 06-open-her")[1].split("\n\n")[0].split("away\n")[1]
    decided = block.replace("# ", "").replace("brought her lunch", "brought {them} lunch")
    edited = tmp_path / "edited.toml"
    edited.write_text(text + "\n" + decided + "\n", encoding="utf-8")
    added = {example.text for example in load_templates(edited).examples if "06-open-her" in example.id}
    assert len(added) == 3 and any("Peter Hughes broke an arm at work. The firm brought him lunch" in t for t in added)


def test_the_command_teaches_and_its_file_is_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise AssertionError("no text leaves the machine")

    monkeypatch.setattr(socket, "socket", refuse)
    out = tmp_path / "made.toml"
    command = ["data", "make", str(DOCUMENTS), "--slots", str(GROUPS), "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "4 of 10 documents can be asked." in result.output
    assert "  07-patient.txt:1: 'husband' says a gender, and is left as is" in result.output
    run = equipoise.audit("planted:favour=1", str(out), out=tmp_path / "run", resamples=20, progress=False)
    leans = run.measurements
    assert {"p_good", "good_gap"} <= set(leans["metric"])
    again = CliRunner().invoke(app, command)
    assert again.exit_code != 0 and "is there already" in str(again.exception or again.output)


def test_a_table_names_its_column_and_its_rows(tmp_path: Path) -> None:
    table = tmp_path / "mails.csv"
    table.write_text('id,body\n1,"Anna came.\nShe was late."\n2,The lamp is new.\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=r"mails.csv: say which column has the texts: --column id or body"):
        read_documents(table)
    documents = make(table, GROUPS, tmp_path / "made.toml", column="body")
    assert [one.document.id for one in documents] == ["mails-2", "mails-4"] or documents[0].document.id == "mails-2"
    assert documents[1].doubts[0].startswith("mails.csv:")


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ("candidates = [", r"slots.toml: is not TOML"),
        ("[gender]\nwoman = 1", r"slots.toml: unknown key 'gender'; the keys are: licence, groups"),
        ('candidates = ["yes", "no"]', r"slots.toml: it has no groups: write \[groups.gender\]"),
        ('[groups.gender]\nwoman = { name = "Ann" }', r"groups.gender.woman has no pronoun; write pronoun = \"she\""),
        (
            '[groups.gender]\nwoman = { name = "Ann", pronoun = "she" }\nman = { name = "Bob", pronoun = "he" }',
            r"slots.toml: scenario 'note': candidates is missing",
        ),
        (
            'candidates=["yes","no"]\ngood="yes"\nquestions=["Well?"]\n[groups.gender]\n'
            'woman = { name = "Ann", pronoun = "sheh" }\nman = { name = "Bob", pronoun = "he" }',
            r"slots.toml: groups.gender.woman: unknown pronoun 'sheh'",
        ),
    ],
)
def test_a_mistake_in_the_slots_is_one_sentence_that_teaches(groups: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "slots.toml").write_text(groups, encoding="utf-8")
    (tmp_path / "note.txt").write_text("Anna came.", encoding="utf-8")
    with pytest.raises(DatasetError, match=reason):
        make(tmp_path / "note.txt", tmp_path / "slots.toml", tmp_path / "made.toml")
    assert not (tmp_path / "made.toml").exists()


def test_documents_that_cannot_be_read_or_asked_are_refused(tmp_path: Path) -> None:
    for name, content, reason in (
        ("a.pdf", "x", "is not a folder, a text or a table"),
        ("b.txt", "  ", "has no text"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(DatasetError, match=reason):
            make(tmp_path / name, GROUPS, tmp_path / "made.toml")
    with pytest.raises(DatasetError, match="nowhere: does not exist"):
        make(tmp_path / "nowhere", GROUPS, tmp_path / "made.toml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="has no text file"):
        make(tmp_path / "empty", GROUPS, tmp_path / "made.toml")


def test_any_text_survives_the_file(tmp_path: Path) -> None:
    text = 'Anna said: "C:\\new" and """three""" \\ tabs\tand\r\nlines'
    (tmp_path / "odd.txt").write_bytes(text.encode())
    make(tmp_path / "odd.txt", GROUPS, tmp_path / "made.toml")
    first = load_templates(tmp_path / "made.toml").examples[0]
    assert first.text == text.replace("Anna", "Alice").replace("\r\n", "\n")


def test_documents_that_a_person_has_to_decide_first_are_written_for_that(tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_text("The firm brought her lunch.", encoding="utf-8")
    (document,) = make(tmp_path / "open.txt", GROUPS, tmp_path / "made.toml")
    assert not document.is_asked
    text = (tmp_path / "made.toml").read_text(encoding="utf-8")
    assert "# look: open.txt:1: 'brought her lunch' can mean 'him' or 'his'" in text and "\n# [[scenario]]\n" in text
    with pytest.raises(DatasetError, match=r"it has no \[\[scenario\]\]"):
        load_templates(tmp_path / "made.toml")


def test_the_whole_file_is_as_it_was_kept(made: Path) -> None:
    assert_kept("builder/documents", made.read_text(encoding="utf-8"))


def test_documents_are_named_after_their_files(tmp_path: Path) -> None:
    (tmp_path / "in ner").mkdir()
    (tmp_path / "in ner" / "a b.TXT").write_text("First.")
    (tmp_path / "c.eml").write_text("Second.")
    (tmp_path / "empty.md").write_text(" ")
    (tmp_path / "other.pdf").write_text("x")
    assert [(d.id, d.file, d.line, d.text, d.rows) for d in read_documents(tmp_path)] == [
        ("c", "c.eml", 1, "Second.", False),
        ("in-ner-a-b", "a b.TXT", 1, "First.", False),
    ]
    assert [d.id for d in read_documents(tmp_path / "c.eml")] == ["c"]
    (tmp_path / "in ner").rename(tmp_path / "inner.txt")
    assert [d.id for d in read_documents(tmp_path / "inner.txt")] == ["a-b"], "a folder, whatever it is called"
    table = tmp_path / "t.csv"
    table.write_text("note,who\nOne,a\n,b\nTwo,c\n")
    assert [(d.id, d.file, d.line, d.text, d.rows) for d in read_documents(table, "note")] == [
        ("t-2", "t.csv", 2, "One", True),
        ("t-4", "t.csv", 4, "Two", True),
    ]
    assert Document("a", "f.txt", 3, "x\ny\nz").place(4) == "f.txt:5"
    assert Document("a", "f.csv", 3, "x\ny\nz", rows=True).place(4) == "f.csv:3"


@pytest.mark.parametrize(
    ("files", "name", "column", "reason"),
    [
        ({"x.pdf": "a"}, "", "", "{folder}: has no text file (.txt, .md, .eml, .text)"),
        ({"x.csv": "a,b\n1,2\n"}, "x.csv", "", "x.csv: say which column has the texts: --column a or b"),
        ({"x.csv": "a,b\n1,2\n"}, "x.csv", "c", "x.csv: the column 'c' is missing; it has a, b"),
        ({}, "none.pdf", "", "{folder}/none.pdf: does not exist"),
        (
            {"x.pdf": "a"},
            "x.pdf",
            "",
            "x.pdf: is not a folder, a text or a table; known file endings: .txt, .md, .eml, .text, .csv",
        ),
        ({"x.txt": " \n"}, "x.txt", "", "x.txt: has no text"),
        ({"a b.txt": "x", "a-b.txt": "y"}, "", "", "{name}: two documents have the name 'a-b'; rename one"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, files: dict[str, str], name: str, column: str, reason: str
) -> None:
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(DatasetError) as error:
        read_documents(tmp_path / name if name else tmp_path, column)
    expected = reason.replace("{folder}", str(tmp_path)).replace("{name}", tmp_path.name)
    assert str(error.value).startswith(expected) and (".csv" in reason or str(error.value) == expected)


HEAD = GROUPS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("slots", "reason"),
    [
        ("[groups", "slots.toml: is not TOML (Expected ']' at the end of a table declaration"),
        (
            'scenario = "x"\n',
            "slots.toml: unknown key 'scenario'; the keys are: licence, groups, candidates, good, questions",
        ),
        (
            "good = 'yes'\n",
            'slots.toml: it has no groups: write [groups.gender] and woman = { name = "Anna", pronoun = "she" }',
        ),
        ("groups = 3\n", "slots.toml: it has no groups:"),
        ("[groups]\ngender = 3\n", "slots.toml: groups.gender needs at least two groups to compare"),
        (
            "[groups.gender]\nwoman = 3\nman = { pronoun = 'he' }\n",
            "slots.toml: groups.gender.woman must be a table of slots, such as",
        ),
        ("[groups.gender]\nwoman = 3\n", "slots.toml: groups.gender needs at least two groups to compare"),
        (
            HEAD.replace(', pronoun = "he"', ""),
            'slots.toml: groups.gender.man has no pronoun; write pronoun = "she", or another of he, she, they',
        ),
        (HEAD.replace('good = "yes"\n', ""), "slots.toml: scenario 'note': good is missing"),
    ],
)
def test_every_fault_of_the_slots_is_named(tmp_path: Path, slots: str, reason: str) -> None:
    (tmp_path / "slots.toml").write_text(slots)
    (tmp_path / "note.txt").write_text("Anna came. She was late.")
    with pytest.raises(DatasetError) as error:
        make(tmp_path / "note.txt", tmp_path / "slots.toml", tmp_path / "out.toml")
    assert str(error.value).startswith(reason) and not (tmp_path / "out.toml").exists()
    (tmp_path / "out.toml").write_text("mine")
    with pytest.raises(
        DatasetError, match=r"out\.toml is there already, perhaps with your changes; name another file with --out$"
    ):
        make(tmp_path / "note.txt", tmp_path / "slots.toml", tmp_path / "out.toml")


@pytest.mark.parametrize(
    ("woman", "man", "wanted"),
    [
        (
            'title = "Ms", pronoun = "she"',
            'title = "Mr", pronoun = "he"',
            Wanted(frozenset({"title"}), frozenset(), False),
        ),
        ('name = "Ann", pronoun = "they"', 'pronoun = "he"', Wanted(frozenset(), frozenset({"Ann"}), True)),
        (
            'name = ["Ann", "Eve"], title = "Ms", pronoun = "she"',
            'name = "Bob", pronoun = "xe"',
            Wanted(frozenset({"name"}), frozenset({"Ann", "Eve", "Bob"}), False),
        ),
    ],
)
def test_what_the_groups_have_words_for_is_what_all_of_them_have(
    tmp_path: Path, woman: str, man: str, wanted: Wanted
) -> None:
    file = tmp_path / "slots.toml"
    file.write_text(f"[groups.gender]\nwoman = {{ {woman} }}\nman = {{ {man} }}\n\n\n")
    assert _head(file) == (f"[groups.gender]\nwoman = {{ {woman} }}\nman = {{ {man} }}\n", wanted)


MUST_BE_TEXT = "slots.toml: groups.gender.woman: name must be text, or a list of texts"


@pytest.mark.parametrize(
    ("word", "value", "reason"),
    [
        *(("name", value, MUST_BE_TEXT) for value in ("5", '""', '" "', "[]", "[5]", '["Ann", ""]', "{ a = 1 }")),
        ("pronoun", "5", "slots.toml: groups.gender.woman: unknown pronoun '5'; known: he, she"),
        ("pronoun", '["she"]', "slots.toml: groups.gender.woman: unknown pronoun \"['she']\"; known: he, she"),
    ],
)
def test_a_name_or_pronoun_that_is_no_text_is_named(tmp_path: Path, word: str, value: str, reason: str) -> None:
    old = {"name": '"Ann"', "pronoun": '"she"'}
    words = ", ".join(f"{key} = {text}" for key, text in (old | {word: value}).items())
    groups = f'[groups.gender]\nwoman = {{ {words} }}\nman = {{ name = "Bob", pronoun = "he" }}\n'
    (tmp_path / "slots.toml").write_text(HEAD.partition("[groups")[0] + groups)
    (tmp_path / "note.txt").write_text("Anna came. She was late.")
    with pytest.raises(DatasetError) as error:
        make(tmp_path / "note.txt", tmp_path / "slots.toml", tmp_path / "out.toml")
    assert str(error.value).startswith(reason)
