"""The sentences in a reply, as models write them, and the log of replies, wherever a crash cuts it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from kept_texts import assert_kept

from equipoise.builder.draft.replies import ReplyLog, parse, sentences_of
from equipoise.builder.rules.filters import FilterOptions, sentence_breaks
from equipoise.builder.steps import Draft
from equipoise.builder.wordlist import occupations

THREE = [
    "[The cook] met the nurse and saw [her].",
    "The cook saw [the nurse], and [he] left.",
    "The cook told the nurse that [she] was late for the 9 a.m. train!",
]
OPENINGS = (
    "",
    "Sure! Here are 3 sentences:\n\n",
    "Certainly. Below are three sentences that use the words cook and nurse.\n\n",
    "### Ambiguous sentences\n\n",
    "<think>\n1. The pronoun must be clear.\n2. So it is.\n</think>\n\n",
)
CLOSINGS = (
    "",
    "\n\nLet me know if you need more!",
    "\nLet me know if you need more!",
    "\n\nI hope this helps. Each sentence can be read in two ways.",
    "\n\n---\n**Note:** In each sentence the pronoun comes last.",
)
WRAPPED = (
    '"{}"',
    "“{}”",
    "„{}“",
    "«\u00a0{}\u00a0»",
    "‘{}’",
    "「{}」",
    "**{}**",
    "*{}*",
    "__{}__",
    "`{}`",
    '**"{}"**',
    "{}",
)


def numbered(mark: str, gap: str = "\n") -> Callable[[list[str]], str]:
    return lambda items: gap.join(f"{mark.format(n)} {item}" for n, item in enumerate(items, start=1))


STYLES = {
    "1.": numbered("{}."),
    "1)": numbered("{})", "\n\n"),
    "(1)": numbered("({})"),
    "**1.**": numbered("**{}.**", "\n\n"),
    "1:": numbered("{}:"),
    "1 -": numbered("{} -"),
    "Sentence 1:": numbered("Sentence {}:"),
    "**Sentence 1:**": numbered("**Sentence {}:**"),
    "- ": lambda items: "\n".join(f"- {item}" for item in items),
    "• ": lambda items: "\n".join(f"• {item}" for item in items),
    "a)": lambda items: "\n".join(f"{letter}) {item}" for letter, item in zip("abc", items, strict=True)),
    "fenced": lambda items: "```text\n" + "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)) + "\n```",
    "indented": lambda items: "\r\n".join(f"  {n}.  {item}" for n, item in enumerate(items, 1)),
    "own line": lambda items: "\n".join(f"{n}.\n{item}" for n, item in enumerate(items, 1)),
    "table": lambda items: (
        "| no. | sentence |\n|---|---|\n" + "\n".join(f"| {n} | {item} |" for n, item in enumerate(items, 1))
    ),
}
CORPUS = [
    pytest.param(f"{opening}{STYLES[style]([wrap.format(one) for one in THREE])}{closing}", id=f"{number} {style}")
    for number, (style, (opening, closing, wrap)) in enumerate(
        (style, (OPENINGS[(n + at) % 5], CLOSINGS[(n + 2 * at) % 5], WRAPPED[(5 * n + at) % 12]))
        for at, style in enumerate(STYLES)
        for n in range(7)
    )
]
"""105 replies: every style of a list with openings, closings and wrappings that come round in turn."""


@pytest.mark.parametrize("reply", CORPUS)
def test_a_corpus_of_replies(reply: str) -> None:
    assert sentences_of(reply) == THREE


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(THREE),
        "```json\n" + json.dumps(THREE, indent=2) + "\n```",
        "Here you are:\n```json\n" + json.dumps({"sentences": THREE}) + "\n```\nLet me know!",
        json.dumps([{"id": 1, "sentence": one} for one in THREE]),
        "\n".join(THREE),
        "Here are the sentences.\n" + "\n\n".join(THREE) + "\nI hope this helps!",
        "\n".join(f"{n}. {one} (the pronoun is clear)" for n, one in enumerate(THREE, 1)),
        "\n".join(f"{n}. {one}\n   - Pronoun: her\n   - Referent: nurse" for n, one in enumerate(THREE, 1)),
        "\n".join(f"{n}. {one[:18]}\n   {one[18:].strip()}" for n, one in enumerate(THREE, 1)),
        "\n".join(f"{n}. {one}" for n, one in enumerate(THREE, 1)) + "\nThese are all coherent, and",
    ],
)
def test_other_shapes(reply: str) -> None:
    assert [" ".join(one.split()) for one in sentences_of(reply)] == THREE


@pytest.mark.parametrize(("opening", "closing"), list(product(OPENINGS, CLOSINGS)))
def test_a_remark_never_becomes_part_of_a_draft_that_passes(opening: str, closing: str) -> None:
    """Whatever the marks around it: what passes the filter is one of the sentences, without a word more."""
    words, options = occupations(), FilterOptions()
    sentence = "The cook met the auditor before he went home."
    for wrap in WRAPPED:
        for text in (
            f"1. {wrap.format(sentence)}{closing}",
            f"{wrap.format(sentence)}{closing}",
            f"- {sentence}{closing}",
        ):
            for raw in sentences_of(opening + text):
                draft = Draft("d", "type1", "cook", "auditor", raw, raw, "r")
                assert raw == sentence or list(sentence_breaks(draft, words, options)), raw


def test_a_reply_that_ran_out_of_tokens_loses_its_half_sentence() -> None:
    cut = f"1. {THREE[0]}\n2. The cook saw the"
    assert sentences_of(cut, cut_off=True) == THREE[:1]
    assert len(sentences_of(cut)) == 2


@pytest.mark.parametrize("reply", ["", "I cannot help with that", "```\n```", "I can't write these.", "{}", "[1, 2]"])
def test_no_list_is_no_sentence(reply: str) -> None:
    assert sentences_of(reply) == []


def test_a_log_cut_anywhere_keeps_its_whole_lines_and_takes_more(tmp_path: Path) -> None:
    rows = [{"request": {"key": f"k{number}"}, "reply": {"text": f"Réponse {number}"}} for number in range(3)]
    whole = ReplyLog(tmp_path / "whole.jsonl")
    for row in rows:
        whole.append(row)
    content = whole.path.read_bytes()
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(len(content) + 1):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(content[:cut])
        log = ReplyLog(path)
        # A line is whole as soon as its last bracket is there.
        expected = sum(end <= cut for end in ends)
        assert (len(log.replies), log.damaged, log.repair()) == (expected, [], "")
        log.append({"request": {"key": "new"}, "reply": {"text": "x"}})
        again = ReplyLog(path)
        assert list(again.replies) == [*(f"k{number}" for number in range(expected)), "new"] and not again.damaged


SHAPES = (
    "Sure! Here are three:\n\n1. One is here.\n2) Two is\nhere.\n(3) Three.\n\nI hope this helps.",
    "a. One.\nb) Two.\n4 - Four.\nSentence 5: Five.\n**6.** *Six* is **bold**.",
    "- One.\n* Two\n  goes on.\n• Three.\n\nunrelated.",
    "| no | text |\n|---|---|\n| 1 | One is long. |\n| 2 | short |",
    "One.\nTwo!\nno end\nHere are more:\n# Heading.\n--- rule.\nThree?",
    '["One.", "Two."]',
    '{"sentences": [{"sentence": "One."}, {"text": "Two."}, {"other": "x"}, 3]}',
    '{"a": ["x."], "b": ["y."]}',
    '```json\n["One."]\n```\nafter.',
    "```\n1. One.\n```",
    "<think>1. No.</think>1. Yes.",
    "1. “One.”\n2. «Two.» (a note)\n3. Three. - Note: more\n4. Example 7: Four.\n5. _Five_ and __six__.\n6. Title:",
    "1.\nOne begins\nand ends.\nmore\n2. Two",
    "1. One\n\nnot more\n2. Two [x].",
    "[not json\n1. One.",
    '```\nplain\n```\n```json\n["One."]\n```',
    '```json\n[broken\n```\n```json\n["Two."]\n```',
    '```json\n{"a": ["x."], "b": ["y."]}\n```\n```\n["Three."]\n```',
    "",
)


@pytest.mark.parametrize("cut_off", [False, True])
def test_every_shape_of_a_reply_is_read_as_it_was(cut_off: bool) -> None:
    assert_kept(
        f"builder/replies{'-cut' if cut_off else ''}", {reply: sentences_of(reply, cut_off=cut_off) for reply in SHAPES}
    )


ROW = {"request": {"key": "k"}, "reply": {"text": "ü"}}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "3",
        "[]",
        "{}",
        '{"request": {"key": 3}, "reply": {"text": "x"}}',
        '{"request": {"key": "k"}, "reply": {"text": 3}}',
        '{"request": {"key": "k"}, "refusal": 3}',
        '{"request": {"key": "k"}}',
        '{"request": {"key": "k"}, "reply": {"text": "x"}, "crc32": "00000000"}',
        '{"request": {"key": "k"}, "reply": {"text": "x"}, "crc32": "0"}',
    ],
)
def test_a_line_that_is_not_whole_is_no_row(line: str) -> None:
    assert parse(line) is None


def test_a_log_keeps_replies_before_refusals(tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "g.jsonl")
    refusal = {"request": {"key": "k"}, "refusal": "no"}
    log.append(refusal)
    assert (log.replies, log.refusals) == ({}, {"k": refusal})
    log.append(ROW)
    log.append({**refusal, "refusal": "again"})
    assert (log.replies, log.refusals) == ({"k": ROW}, {})
    again = ReplyLog(tmp_path / "g.jsonl")
    assert (list(again.replies), again.refusals, again.damaged, again.repair()) == (["k"], {}, [], "")
    payload = json.dumps(ROW, ensure_ascii=False)[:-1]
    line = f'{payload}, "crc32": "{zlib.crc32(payload.encode()):08x}"}}'
    assert (tmp_path / "g.jsonl").read_text().split("\n")[1] == line and parse(line) is not None
    assert parse(json.dumps(ROW)) == ROW  # of a version without checksums


def test_damage_is_moved_aside_and_named(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    log = ReplyLog(path)
    for number in range(3):
        log.append({"request": {"key": f"k{number}"}, "reply": {"text": "x"}})
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "", "broken", lines[1].replace("x", "y"), lines[2]]) + "\n")
    damaged = ReplyLog(path)
    assert (damaged.damaged, list(damaged.replies)) == ([3, 4], ["k0", "k2"])
    assert damaged.repair() == f"{path}: damaged lines (3, 4) moved to g.damaged" and damaged.damaged == []
    assert path.read_text() == f"{lines[0]}\n{lines[2]}\n"
    assert (tmp_path / "g.damaged").read_text() == f"broken\n{lines[1].replace('x', 'y')}\n"
    assert damaged.repair() == "" and ReplyLog(tmp_path / "none.jsonl").repair() == ""
    for rest, expected in ((lines[1], f"{lines[0]}\n{lines[1]}\n"), ("{cut", f"{lines[0]}\n")):
        path.write_text(f"{lines[0]}\n{rest}")
        ReplyLog(path).repair()
        assert path.read_text() == expected
