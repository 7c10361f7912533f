"""Prompts: ours, one's own, those of the paper, for any pronouns and markers."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_faults import PLAN, requests
from kept_texts import assert_kept

from equipoise.builder.draft.generation import Plan, requests_of
from equipoise.builder.draft.prompt_files import fill, read_prompts
from equipoise.builder.steps import BuildError
from equipoise.builder.wordlist import HE, SHE, occupations
from equipoise.datasets.pronouns import pronoun_sets
from equipoise.records import DatasetError


def test_prompts_can_be_swapped_and_are_checked(tmp_path: Path) -> None:
    for kind in ("type1", "type2"):
        (tmp_path / f"{kind}.txt").write_text("{{braces}} stay: {count} about {target} and {other}")
    asked = requests_of(PLAN, read_prompts(tmp_path), "m")
    assert "{{braces}} stay: 2 about the " in asked[0].prompt
    (tmp_path / "type2.txt").write_text("{target}")
    with pytest.raises(BuildError, match=r"the prompt for type2 has no \{other\}"):
        read_prompts(tmp_path)


def test_the_papers_own_prompts_are_used_as_they_are(tmp_path: Path) -> None:
    paper = tmp_path / "paper.txt"
    paper.write_text(
        "## C Prompts\n\nFor type1 samples, we use the following prompt to generate:\n\nPlease write 15 about "
        "{target\\_occ} and {other\\_occ}.\n\nFor type2 samples, we use the following prompt to generate:\n\nNow 15 "
        "with {target\\_occ}, not {other\\_occ}.\n\n## D Survey\n\nMore text.\n"
    )
    prompts = read_prompts(paper)
    assert fill(prompts["type1"], "cook", "nurse", 15, (HE, SHE)) == "Please write 15 about cook and nurse.\n"
    assert fill(prompts["type2"], "cook", "nurse", 15, (HE, SHE)) == "Now 15 with cook, not nurse.\n"
    paper.write_text("no prompts at all")
    with pytest.raises(BuildError, match="has no prompts"):
        read_prompts(paper)


def test_our_prompts_have_the_papers_structure_and_never_change_a_key() -> None:
    for text in read_prompts(None).values():
        good, bad, rules = (text.index(part) for part in ("Three good", "Three bad", "Rules:"))
        assert text.index("Definition") < good < bad < rules
        assert "square brackets" in text[rules:]
    # A changed prompt would be paid for again in every build that exists.
    assert [request.key[:8] for request in requests()[:3]] == KEYS


KEYS = ["326601f4", "1efff972", "7e1b64f8"]


def test_prompts_for_any_pronouns_and_for_markers() -> None:
    sets = pronoun_sets(["they", "xe"])
    plan = Plan(occupations(), samples=2, limit=1, pronouns=sets, markers=("young", "old"))
    asked = requests_of(plan, read_prompts(None), "m")
    assert len(asked) == 2 * 2 * 2
    prompt = next(request.prompt for request in asked if request.type == "type2" and request.marker == "old")
    assert "Use one pronoun, once: they, xe, them, xem, their or xyr." in prompt
    assert f"means the old {asked[0].target}" in prompt
    assert "without [them]" in prompt and "handed [xem]" in prompt and "[he]" not in prompt and "{" not in prompt
    with pytest.raises(DatasetError, match="unknown pronouns 'blah'"):
        pronoun_sets(["he", "blah"])
    with pytest.raises(DatasetError, match="at least two"):
        pronoun_sets(["he"])


SLOTS = (
    "{target}|{target_occ}|{other}|{other_occ}|{count}|{pronoun_kind}|{pronoun_list}|{other_pronouns}|{preferred_forms}|"
    "{himself}|{he}|{him}|{his}|{she}|{her_own}|{her}|{unknown}"
)


def test_every_slot_is_filled_as_it_was() -> None:
    sets = {
        "two": (HE, SHE),
        "swapped": (SHE, HE),
        "three": tuple(pronoun_sets(["he", "she", "they"])),
        "new": tuple(pronoun_sets(["xe", "they"])),
    }
    assert_kept("builder/prompts", {name: fill(SLOTS, "nurse", "cook", 7, several) for name, several in sets.items()})


@pytest.mark.parametrize(
    ("files", "name", "reason"),
    [
        (
            {"type1.txt": "{target} {other}"},
            "",
            "type2.txt does not exist; a folder of prompts holds type1.txt and type2.txt",
        ),
        ({"type1.txt": "{other}", "type2.txt": "x"}, "", ": the prompt for type1 has no {target} (or {target_occ})"),
        (
            {"type1.txt": "{target} {other}", "type2.txt": "{target_occ}"},
            "",
            ": the prompt for type2 has no {other} (or {other_occ})",
        ),
        (
            {"paper.md": "For type1 samples, we use the following prompt:\n{target} {other}\n"},
            "paper.md",
            " has no prompts: it should be a folder, or the UCerF paper's text with its appendix C",
        ),
    ],
)
def test_prompts_that_are_wrong_are_named(tmp_path: Path, files: dict[str, str], name: str, reason: str) -> None:
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(BuildError) as error:
        read_prompts(tmp_path / name if name else tmp_path)
    assert str(error.value).endswith(reason) and str(error.value).startswith(str(tmp_path))


def test_the_prompts_of_a_paper_end_where_the_next_part_begins(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text(
        "intro\nFor type2 samples, we use the following prompt:\n\n{target\\_occ} and {other} two\n"
        "For type1 samples, we use the following prompt (short)\n{target} and {other\\_occ} one\n\n## D Other\nrest\n"
    )
    assert read_prompts(path) == {"type1": "{target} and {other_occ} one\n", "type2": "{target_occ} and {other} two\n"}
    assert list(read_prompts(path)) == ["type1", "type2"]
    folder = tmp_path / "own"
    folder.mkdir()
    for kind in ("type1", "type2"):
        (folder / f"{kind}.txt").write_text(f"{kind} {{target\\_occ}} {{other}}")
    assert read_prompts(folder) == {kind: f"{kind} {{target_occ}} {{other}}" for kind in ("type1", "type2")}
