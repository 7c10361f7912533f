"""Notes on metrics without a value name the first group and count the others."""

from __future__ import annotations

from equipoise.measuring.undefined import is_on_undefined, undefined_notes


def test_groups_are_counted_and_occupations_are_told_together() -> None:
    notes = list(
        undefined_notes(
            {
                "ece": {"all": "no label", "type=a": "", "type=b": ""},
                "eo_sum": {"occupation=nurse": "empty", "occupation=cook,type=a": "empty", "occupation=cook": "empty"},
                "tpr": {"type=a": "empty"},
            }
        )
    )
    assert notes == [
        "ece is undefined for all items and for 2 groups (no label)",
        "tpr is undefined for type=a (empty)",
        "these metrics are not defined for some occupations, because items to compare are missing: "
        "eo_sum (2 occupations)",
    ]
    assert all(map(is_on_undefined, notes)) and not is_on_undefined("3 of 4 sets have one sentence only")
