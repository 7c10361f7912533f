"""Verbs agree with their pronoun."""

from __future__ import annotations

from pathlib import Path

from equipoise.datasets.user_table import load_table


def test_the_verb_after_a_subject_agrees_with_they_and_with_nobody_else(tmp_path: Path) -> None:
    rows = (
        "The pilot met the waiter before {pronoun} was paid.,subject",
        "He said that {pronoun} dog was ill.,possessive",
    )
    path = tmp_path / "mine.csv"
    lines = ["text,form,candidate_1,candidate_2", *(f"{row},pilot,waiter" for row in rows), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    ends = [example.text.split()[-4:] for example in load_table(path, pronouns=("she", "they")).examples]
    assert [" ".join(words) for words in ends] == [
        "before she was paid.",
        "before they were paid.",
        "her dog was ill.",
        "their dog was ill.",
    ]
