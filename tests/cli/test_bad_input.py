"""A bad table or option is one sentence that names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cli import HE, HEADER, SHE, Command, refused

BAD_TABLES = {
    "missing-column.csv": (
        "text,pronoun\nHe ran.,he\n",
        "missing-column.csv: the columns of the candidates are missing",
    ),
    "pronoun.csv": (f"{HEADER}\n{HE}\n{SHE.replace(',she,', ',hers,')}\n", "pronoun.csv:3: pronoun 'hers' is not in"),
    "empty.csv": ("", "empty.csv: is empty"),
    "header.csv": (f"{HEADER}\n", "header.csv: holds no row"),
    "candidate.csv": (f"{HEADER}\n{HE.replace(',baker,', ',12,')}\n", "candidate.csv:2: candidate '12' is not text"),
    "candidate.jsonl": (
        '{"text": "He ran.", "pronoun": "he", "candidates": ["a", null]}',
        "candidate.jsonl:1: candidate None is not text",
    ),
    "cells.csv": (f"{HEADER}\n{HE},more\n", "cells.csv:2: has 6 cells"),
    "cut.jsonl": ('{"text": "He ran."', "cut.jsonl:1: is not JSON"),
    "long.csv": (f"{HEADER}\n{'x' * 10_000_000}{HE}\n", "long.csv:2: is not well-formed"),
    "long.jsonl": (
        json.dumps({"text": "He ran", "pronoun": "x" * 10**7, "candidates": "a|b"}),
        "long.jsonl:1: pronoun",
    ),
    "nul.csv": (f"{HEADER}\n{HE.replace('helped', 'hel' + chr(0))}\n", "nul.csv:2: text has a NUL character"),
    "no.parquet": ("PAR1 and no more", "no.parquet: cannot be read as Parquet"),
    "escape.csv": (f"{HEADER}\n{HE.replace(',he,', ',' + chr(27) + '[31mhe,')}\n", "escape.csv:2: pronoun"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_one_sentence_with_file_and_line(forked: Command, name: str, tmp_path: Path) -> None:
    content, sentence = BAD_TABLES[name]
    (tmp_path / name).write_text(content)
    said = refused(forked("audit", "planted", "--data", name, "--out", "run", cwd=tmp_path))
    assert said.startswith(sentence) and said.isprintable()


BAD_OPTIONS = {
    "--data nowhere": "unknown dataset 'nowhere'",
    "--data nowhere.csv": "nowhere.csv: no such file or folder",
    "--task guess": "unknown task 'guess'",
    "--metric ucref": "unknown metric 'ucref'; did you mean 'ucerf'?",
    "--estimator guess": "unknown estimator 'guess'",
    "--by shoes": "no item has a group 'shoes'",
    "--limit 0": "--limit must be at least 1, not 0",
    "--limit some": "Invalid value for '--limit'",
    "--seeds 0": "--seeds must be at least 1, not 0",
    "--seeds 1.5": "Invalid value for '--seeds'",
    "--seed -1": "--seed must be at least 0, not -1",
    "--level 95": "--level must lie between 0 and 1, not 95",
    "--level nan": "--level must lie between 0 and 1",
    "--resamples 0": "--resamples must be at least 1",
    "--disparity mode": "Invalid value for '--disparity': 'mode' is not one of 'range', 'pairwise', 'deviation'",
    "--dtype int3": "Invalid value for '--dtype': 'int3' is not one of 'auto', 'float32', 'bfloat16', 'float16'",
    "--bos perhaps": "Invalid value for '--bos': 'perhaps' is not one of 'auto', 'always', 'never'",
    "--log paper": "Invalid value for '--log': 'paper' is not one of 'mlflow', 'wandb', 'tensorboard'",
    "--pronouns he": "at least two different pronouns",
    "--columns text": "--columns takes name=column parts, not 'text'",
    "--columns =text": "--columns takes name=column parts, not '=text'",
    "--columns text=": "--columns takes name=column parts, not 'text='",
    "--columns text=a,text=b": "--columns names 'text' twice",
    "--columns text=a": "builtin is not a table",
    "--nonsense": "No such option: --nonsense",
    "--out taken": "the run folder taken cannot be written (file exists)",
    "--out taken/below": "the run folder taken/below cannot be written (not a directory)",
    "--out /proc/below": "the run folder /proc/below cannot be written",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", BAD_OPTIONS)
def test_a_bad_option_is_one_sentence(forked: Command, words: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    said = refused(forked("audit", "planted", "--limit", "4", "--resamples", "9", *words.split(), cwd=tmp_path))
    assert said.startswith(BAD_OPTIONS[words])
