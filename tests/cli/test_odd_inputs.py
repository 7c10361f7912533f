"""Odd inputs of newcomers: one right sentence each, no traceback, and nothing that goes by in silence.

What is right is read, what is doubtful is counted as a fault, and what is wrong is refused with the fact and the place.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.cli.errors import in_options
from equipoise.records import EquipoiseError

HEADER = "text,pronoun,candidate_1,candidate_2"
HE = "The cook paid the clerk because he ate.,he,cook,clerk"
SHE = "The cook paid the clerk because she ate.,she,cook,clerk"
GOOD = f"{HEADER}\n{HE}\n{SHE}\n"
GROUPED = "text,pronoun,group,candidate_1,candidate_2"


def rows(*lines: str, header: str = HEADER) -> str:
    return "\n".join([header, *lines]) + "\n"


def in_script(text: str, words: tuple[str, str], people: tuple[str, str]) -> str:
    lines = [
        f"{text.format(word)},{word},{group},{people[0]},{people[1]}" for word, group in zip(words, "ab", strict=True)
    ]
    return rows(*lines, header=GROUPED)


def sheet(*lines: tuple[Any, ...]) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for line in lines:
        book.active.append(line)
    book.save(content)
    return content.getvalue()


CELLS = [line.split(",") for line in (HEADER, HE, SHE)]
READ = "1 set"
"""What is said of a table that is read: its one set can be compared."""

SCRIPTS: Mapping[str, str] = {
    "chinese": in_script("护士告诉农民{}迟到了。", ("她", "他"), ("护士", "农民")),
    "chinese-names": in_script("王医生见到李老师时{}在喝茶。", ("她", "他"), ("王医生", "李老师")),
    "japanese": in_script("看護師は農夫に{}が遅れたと言った。", ("彼女", "彼"), ("看護師", "農夫")),
    "thai": in_script("พยาบาลบอกชาวนาว่า{}มาสาย", ("เธอ", "เขา"), ("พยาบาล", "ชาวนา")),
    "korean": in_script("간호사는 농부에게 {} 늦었다고 말했다.", ("그녀가", "그가"), ("간호사는", "농부에게")),
    "hebrew": in_script("האחות אמרה לחקלאי כי {} איחרה.", ("היא", "הוא"), ("האחות", "לחקלאי")),
    "arabic": in_script("قالت الممرضة للمزارع إن {} متأخر.", ("هي", "هو"), ("الممرضة", "للمزارع")),
    "persian": in_script("پرستار به کشاورز گفت که {} دیر می\u200cآید.", ("این زن", "این مرد"), ("پرستار", "کشاورز")),
    "hindi": in_script("नर्स ने किसान से कहा कि {} देर से आई।", ("वह स्त्री", "वह पुरुष"), ("नर्स", "किसान")),
    "russian": in_script("Врач сказал повару что {} здесь.", ("она", "он"), ("Врач", "повару")),
    "greek": in_script("Ο γιατρός είδε τον μάγειρα όταν {} έφυγε.", ("αυτή", "αυτός"), ("γιατρός", "μάγειρα")),
    "german": in_script("Die Ärztin traf den Koch, als {} ging.".replace(",", " "), ("sie", "er"), ("Ärztin", "Koch")),
    "turkish": in_script("İşçi kâtibe {} geldiğini söyledi.", ("Ayşe'nin", "İsmail'in"), ("işçi", "kâtibe")),
    "vietnamese": in_script("Y tá nói với bác sĩ rằng {} đến muộn.", ("cô ấy", "anh ấy"), ("y tá", "bác sĩ")),
    "french": in_script("L'infirmier a dit au fermier qu’{} partait.", ("elle", "il"), ("infirmier", "fermier")),
    "spanish": in_script("La médica vio al juez cuando {} salió.", ("ella", "él"), ("médica", "juez")),
    "spanish-decomposed": in_script("La médica vio al juez cuando {} salió.", ("ella", "e\u0301l"), ("médica", "juez")),
    "swahili": in_script("Muuguzi alimwambia mkulima kwamba {} amechelewa.", ("dada", "kaka"), ("muuguzi", "mkulima")),
    "emoji": in_script("The cook 👩‍🍳 paid the clerk because {} ate.", ("she", "he"), ("cook", "clerk")),
    "right-to-left-marks": in_script("האחות אמרה לחקלאי כי \u200f{}\u200f איחרה.", ("היא", "הוא"), ("האחות", "לחקלאי")),
    "shouting": in_script("THE COOK PAID THE CLERK BECAUSE {} ATE.", ("SHE", "HE"), ("cook", "clerk")),
    "capital-i-with-dot": in_script("İŞÇİ {} GÖRDÜ.", ("AYŞE'Yİ", "İSMAİL'İ"), ("İşçi", "Ayşe")),
}

TABLES: Mapping[str, tuple[str | bytes, str]] = {
    **{f"{name}.csv": (text, READ) for name, text in SCRIPTS.items()},
    "good.csv": (GOOD, READ),
    "tabs.csv": (GOOD.replace(",", "\t"), READ),
    "semicolons.csv": (GOOD.replace(",", ";"), READ),
    "utf16.csv": (GOOD.encode("utf-16"), READ),
    "utf16-be.csv": ("\ufeff".encode("utf-16-be") + GOOD.encode("utf-16-be"), READ),
    "bom.csv": (GOOD.encode("utf-8-sig"), READ),
    "windows.csv": (GOOD.replace("\n", "\r\n"), READ),
    "good.tsv": (GOOD.replace(",", "\t"), READ),
    "good.xlsx": (sheet(*map(tuple, CELLS)), READ),
    "GOOD.CSV": (GOOD, READ),
    "first-lines-blank.csv": (f"\n\n{GOOD}", READ),
    "blank-row.csv": (rows(HE, "", SHE), "blank row (1)"),
    "commas-only.csv": (rows(HE, ",,,", SHE), "blank row (1)"),
    "blank-rows.csv": (rows(HE, "", " ", SHE), "blank row (2)"),
    "blank-end.csv": (GOOD + "\n\n", "no faults found"),
    "blank-row.xlsx": (sheet(CELLS[0], CELLS[1], (None,) * 4, CELLS[2]), "blank row (1)"),
    "blank-column.xlsx": (sheet((*CELLS[0], None), (*CELLS[1], None), (*CELLS[2], None)), READ),
    "duplicate.csv": (rows(HE, SHE, SHE), "repeated sentence"),
    "alone.csv": (rows(HE), "no row differs from it only in the pronoun"),
    "stranger.csv": (
        rows(HE.replace(",clerk", ",pilot"), SHE.replace(",clerk", ",pilot")),
        "candidate 'pilot' is not in",
    ),
    "order.csv": (rows(HE.replace("cook,clerk", "clerk,cook"), SHE.replace("cook,clerk", "clerk,cook")), READ),
    "extra-columns.csv": (rows(f"{HE},x,1", f"{SHE},y,2", header=f"{HEADER},note,more"), READ),
    "header-case.csv": (GOOD.replace(HEADER, HEADER.upper()), READ),
    "header-spaces.csv": (GOOD.replace(HEADER, HEADER.replace(",", " , ")), READ),
    "aliases.csv": (GOOD.replace(HEADER, "Sentence,Pronoun,Option 1,Option 2"), READ),
    "slots.csv": ("text,form,candidates\nThe cook paid the clerk because {pronoun} ate.,subject,cook|clerk\n", READ),
    "lines.jsonl": ("\n".join(json.dumps(dict(zip(CELLS[0], c, strict=True))) for c in CELLS[1:]), READ),
    "list.json": (json.dumps([dict(zip(CELLS[0], c, strict=True)) for c in CELLS[1:]]), READ),
    # Wrong: refused with the fact and the place.
    "utf16-without-mark.csv": (
        GOOD.encode("utf-16-le"),
        "looks like UTF-16 without a byte-order mark; save it as UTF-8",
    ),
    "latin1.csv": (rows(HE.replace("ate", "at\xe9")).encode("latin-1"), "latin1.csv:2: byte 0xe9 is not UTF-8 text"),
    "empty.csv": ("", "empty.csv: is empty"),
    "spaces.csv": ("  \n \n", "spaces.csv: is empty"),
    "header.csv": (f"{HEADER}\n", "header.csv: holds no row"),
    "only-blank.csv": (rows(",,,", " , , ,"), "only-blank.csv: holds no row"),
    "empty.xlsx": (sheet(), "empty.xlsx: is empty"),
    "broken.xlsx": (b"PK and no more", "broken.xlsx: cannot be read as an Excel file"),
    "old.xls": (b"\xd0\xcf", "old.xls: .xls files are not read; save it as .xlsx or .csv"),
    "calc.ods": (b"PK", "calc.ods: .ods files are not read; save it as .xlsx or .csv"),
    "notes.docx": (b"PK", "is neither a table (.csv, .tsv, .xlsx"),
    "notes.txt": ("The cook paid the clerk because he ate.", "neither a table"),
    "broken.parquet": (b"PAR1", "broken.parquet: cannot be read as Parquet"),
    "cut.jsonl": ('{"text": "x"', "cut.jsonl:1: is not JSON"),
    "numbers.json": ("[1, 2]", "numbers.json:1: is not a JSON object"),
    "no-columns.csv": ("a,b\n1,2\n", "no column holds the sentence, the pronoun and the candidates; it has a, b"),
    "no-text.csv": ("pronoun,candidates\nhe,a|b\n", "no column holds the sentence; it has pronoun, candidates"),
    "no-pronoun.csv": ("text,candidates\nx,a|b\n", "no column holds the pronoun"),
    "no-candidates.csv": ("text,pronoun\nx,he\n", "--columns candidate_1=COLUMN,candidate_2=COLUMN"),
    "two-missing.csv": ("text,note\nx,he\n", "no column holds the pronoun and the candidates"),
    "column-twice.csv": (f"{HEADER},text\n{HE},x\n", "duplicate column 'text'"),
    "cells.csv": (rows(f"{HE},more"), "cells.csv:2: has 5 cells, but the header has 4"),
    "few-cells.csv": (rows("x,he"), "few-cells.csv:2: has 2 cells, but the header has 4"),
    "quote.csv": (rows(f'"{HE}'), "quote.csv:2: is not well-formed"),
    "long-cell.csv": (rows(f"{'x' * 200_000}{HE}"), "long-cell.csv:2: has a cell of more than 131,072 characters"),
    "nul.csv": (rows(HE.replace("ate", "a\0e")), "nul.csv:2: text has a NUL character"),
    "no-text-cell.csv": (rows(",he,cook,clerk"), "no-text-cell.csv:2: text is empty"),
    "no-pronoun-cell.csv": (rows("The cook ate.,,cook,clerk"), "no-pronoun-cell.csv:2: pronoun is empty"),
    "no-candidate.csv": (rows(HE.replace(",clerk", ",")), "no-candidate.csv:2: candidate '' is not text"),
    "number.csv": (rows(HE.replace(",cook", ",12")), "number.csv:2: candidate '12' is not text"),
    "same.csv": (rows(HE.replace(",clerk", ",Cook")), "same.csv:2: the candidates cook, Cook repeat"),
    "one.csv": (
        "text,pronoun,candidates\nHe ate.,he,cook\n",
        "one.csv:2: needs at least two candidates, not only 'cook'",
    ),
    "absent.csv": (rows(HE.replace(",he,", ",xe,")), "absent.csv:2: pronoun 'xe' is not in the sentence"),
    "part.csv": (rows(HE.replace(",he,", ",lerk,")), "it is a part of 'clerk'"),
    "plural.csv": (rows("护士告诉农民她们迟到了。,她,f,护士,农民", header=GROUPED), "it is a part of '她们'"),
    "prefix.csv": (rows("האחות אמרה שהיא איחרה.,היא,f,האחות,חקלאי", header=GROUPED), "it is a part of 'שהיא'"),
    "accent.csv": (rows("Da ist he\u0301 nun.,he,cook,clerk"), "accent.csv:2: pronoun 'he' is not in the sentence"),
    "unknown-word.csv": (rows("The cook saw qir.,qir,cook,clerk"), "add a column 'group' that says whom it refers to"),
    "gold.csv": (rows(f"{HE},pilot", header=f"{HEADER},gold"), "gold 'pilot' is not one of the candidates cook, clerk"),
    "gold-number.csv": (rows(f"{HE},3", header=f"{HEADER},gold"), "gold '3' is not one of the candidates"),
    "answerable.csv": (
        rows(f"{HE},maybe", header=f"{HEADER},answerable"),
        "answerable 'maybe' is neither true nor false",
    ),
    "unanswered.csv": (rows(f"{HE},yes", header=f"{HEADER},answerable"), "its right answer is not given"),
    "stereotype.csv": (rows(f"{HE},pro", header=f"{HEADER},stereotype"), "needs a right answer and two candidates"),
    "id.csv": (
        rows(f"{HE},1", f"{SHE},1", header=f"{HEADER},id"),
        "id.csv:3: duplicate id '1', already used at id.csv:2",
    ),
    "form.csv": (rows(f"{HE},dative", header=f"{HEADER},form"), "unknown form 'dative'"),
    "slots-two.csv": ("text,form,candidates\n___ saw ___.,subject,a|b\n", "needs one slot for the pronoun"),
    "no-group.csv": ("text,group,candidates\nAnn slept.,,a|b\n", "group is empty; it says whom the text is about"),
    "comma-group.csv": ('text,pronoun,group,candidates\nhe ate,he,"a,b",x|y\n', "may not contain , or ="),
    "candidates.csv": ('text,pronoun,candidates\nhe ate,he,"[1"\n', "is neither a JSON list nor a|b"),
    "uneven.csv": ("text,pronoun,candidates\nhe ate,he,a|b\nshe ate,she,a|b|c\n", "every row needs the same number"),
}


def said(*words: str) -> tuple[int, str]:
    """Return the exit code, and what a command printed or the sentence it ended in; a traceback fails the test."""
    result = CliRunner().invoke(app, list(words), input="")
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return result.exit_code, result.output
    usage = hasattr(error, "format_message")
    assert isinstance(error, EquipoiseError) or usage, f"a traceback: {error!r}"
    text = str(error.format_message()) if usage else in_options(error)  # type: ignore[union-attr, arg-type]
    assert "\n" not in text.strip() and text.strip(), "one sentence"
    return 2, text


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_counted_or_refused(name: str, tmp_path: Path) -> None:
    content, sentence = TABLES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, text = said("data", "check", str(tmp_path / name))
    wanted = "1 set can be compared" if sentence == READ else sentence
    assert wanted in text, text
    assert code == (0 if sentence == READ or " example" in text else 2)


COMMANDS: Mapping[str, str] = {
    "audit planted --data nowhere": "unknown dataset 'nowhere'",
    "audit planted --data builtn": "did you mean 'builtin'",
    "audit planted --data nowhere.csv": "nowhere.csv: no such file or folder",
    "audit planted --task gess": "unknown task 'gess'",
    "audit planted --task next_word": "did you mean 'next-word'",
    "audit planted --metric ucref": "did you mean 'ucerf'",
    "audit planted --estimator reny": "did you mean 'renyi'",
    "audit planted --by shoes --limit 4": "no item has a group 'shoes'",
    "audit planted --limit 0": "--limit must be at least 1, not 0",
    "audit planted --limit -3": "--limit must be at least 1, not -3",
    "audit planted --limit some": "Invalid value for '--limit'",
    "audit planted --seeds 3": "No such option: --seeds",
    "audit planted --orders 0": "--orders must be at least 1, not 0",
    "audit planted --level 95": "--level must lie between 0 and 1, not 95",
    "audit planted --level nan": "--level must lie between 0 and 1",
    "audit planted --resamples 0": "--resamples must be at least 1, not 0",
    "audit planted --drop-settled": "--drop-settled needs --until-width",
    "audit planted --joint": "--joint needs --until-width",
    "audit planted --at-most 5": "--at-most needs --until",
    "audit planted --until flip_rate": "is not a requirement",
    "audit planted --margin 0.1": "--margin and --one-sided need --until-better",
    "plan planted": "plan for what?",
    "audit planted --until-width 0": "--until-width must be above 0, not 0",
    "audit planted --passes 3": "--passes is for --dropout",
    "audit planted --workers 3": "need --cluster",
    "audit planted --system Hi": "--chat must be set, too",
    "audit planted --crossed": "need --data winoidentity",
    "audit planted --both": "--both is for multiple choice",
    "audit planted --samples 3": "--samples is for open answers",
    "audit planted --pronouns he": "at least two different pronouns",
    "audit planted --pronouns he,zzz": "unknown pronouns 'zzz'",
    "audit planted --columns text": "--columns takes name=column parts, not 'text'",
    "audit planted --columns text=a": "builtin is not a table",
    "audit planted --wordings none.toml": "none.toml cannot be read",
    "audit planted --shots none.csv": "none.csv: no such file or folder",
    "audit planted --config none.toml": "none.toml: cannot be read",
    "audit planted --where gender": "gender",
    "audit planted --nonsense": "No such option: --nonsense",
    "audit planted:bias=big": "planted: bias must be a number, not 'big'",
    "audit planted:bios=1": "planted: unknown setting 'bios'",
    "audit nowhere.gguf": "GGUF file nowhere.gguf does not exist",
    "audit gpu:x": "unknown engine 'gpu'",
    "audit empty": "empty holds no weights",
    "report nowhere": "nowhere",
    "report empty": "it has no manifest.json",
    "report empty --as nothing": "'nothing' is not one of 'page', 'figures'",
    "measure empty": "it has no manifest.json",
    "compare empty": "it has no manifest.json",
    "gate empty": "empty is not a run folder",
    "verify empty": "manifest.json",
    "study nothing": "No such command 'nothing'",
    "study estimators empty": "it has no manifest.json",
    "list nothing": "No such command 'nothing'",
    "data show nowhere": "unknown dataset 'nowhere'",
    "data check nowhere": "unknown dataset 'nowhere'",
    "data fetch nowhere": "nowhere",
    "suite none.toml": "none.toml",
    "figures run": "is now `equipoise report RUN --as figures`",
    "metrics": "is now `equipoise list metrics`",
    "ask": "type a sentence",
    "ask rain --model planted": "who may be meant in 'rain'?",
    "nonsense": "No such command 'nonsense'",
    "aduit": "Did you mean 'audit'",
}
SENTENCES: Mapping[tuple[str, ...], str] = {
    ("audit", "planted", "--data", "The nurse told the farmer that she was late."): "equipoise ask",
    ("ask", "The nurse told the farmer that it rained.", "--model", "planted"): "no pronoun was found",
    ("ask", "The nurse saw the cook when he met her.", "--model", "planted"): "mark the one to ask about: [he]",
    ("ask", "护士告诉农民她迟到了。", "--model", "planted"): "Name them with --candidates",
    (
        "ask",
        "The [old] nurse met the cook before she left.",
        "--model",
        "planted",
        "--groups",
        "old",
    ): "two group words",
    ("ask", "The [old] nurse met the cook before she left.", "--model", "planted"): "compare with --groups",
    ("ask", "", "--model", "planted"): "who may be meant in ''?",
}


@pytest.mark.parametrize("words", [*(tuple(line.split()) for line in COMMANDS), *SENTENCES], ids=" ".join)
def test_a_wrong_command_is_one_sentence(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    if words == ("audit", "empty"):
        (tmp_path / "empty" / "config.json").write_text('{"model_type": "llama"}')
    code, text = said(*words)
    assert code != 0 and (SENTENCES.get(words) or COMMANDS[" ".join(words)]) in text, text


ARGUMENTS: Mapping[str, tuple[dict[str, Any], str]] = {
    "tasks": ({"tasks": "mcq"}, "unknown argument 'tasks'; did you mean 'task'?"),
    "metric": ({"metric": ["ucerf"]}, "unknown argument 'metric'; did you mean 'metrics'?"),
    "seeds": ({"seeds": 2}, "unknown argument 'seeds'; it is now 'orders'"),
    "precision": ({"precision": 0.1}, "it is now 'until_width'"),
    "level": ({"level": 95}, "level must lie between 0 and 1, not 95"),
    "data": ({"data": 3}, "data must be a name, a path"),
    "rows": ({"data": []}, "data has no rows"),
    "columns": ({"data": [{"a": 1}]}, "name with columns text=COLUMN"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_python_speaks_of_arguments(name: str, audit: Callable[..., Any]) -> None:
    given, sentence = ARGUMENTS[name]
    with pytest.raises(EquipoiseError) as caught:
        audit("planted", **given)
    assert sentence in str(caught.value) and "--" not in str(caught.value)


@pytest.fixture
def audit(tmp_path: Path) -> Callable[..., Any]:
    """Return the audit of the library, which writes nothing that stays."""
    import equipoise

    return lambda *given, **choices: equipoise.audit(*given, out=tmp_path / "run", **choices)


def test_there_are_more_than_150() -> None:
    assert len(TABLES) + len(COMMANDS) + len(SENTENCES) + len(ARGUMENTS) >= 150
