"""Prompt templates: the package's own, a folder with type1.txt and type2.txt, or the text of the UCerF paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ... import packaged
from ...datasets.pronouns import PronounSet
from ...records import listed
from ..steps import BuildError
from ..wordlist import HE, SHE, THEY

KINDS = ("type1", "type2")
_TARGET, _OTHER, _COUNT = ("{target}", "{target_occ}"), ("{other}", "{other_occ}"), "{count}"
_IN_PAPER = re.compile(
    r"For (type[12]) samples, we use the following prompt[^\n]*\n(.*?)(?=For type[12] samples, we use|^#+ D\b|\Z)",
    re.DOTALL | re.MULTILINE,
)


def read_prompts(path: Path | None) -> dict[str, str]:
    """Return the template of each type.

    A folder holds `type1.txt` and `type2.txt`. A file is the text of the UCerF paper, whose appendix C has the prompts.
    `{target}` becomes "the nurse", `{target_occ}` (the paper's slot) "nurse". Without `{count}` the prompt itself says
    how many sentences it asks for.
    """
    is_paper = path is not None and path.is_file()
    prompts = _from_paper(path) if path and is_paper else {kind: _read(path, kind) for kind in KINDS}
    for kind, text in prompts.items():
        for slots in (_TARGET, _OTHER):
            if not any(slot in text for slot in slots):
                raise BuildError(f"{path or 'prompts'}: the prompt for {kind} has no {slots[0]} (or {slots[1]})")
    return prompts


def _read(folder: Path | None, kind: str) -> str:
    if folder is None:
        return packaged.text(__package__, "prompts", f"{kind}.txt")
    path = folder / f"{kind}.txt"
    if not path.is_file():
        raise BuildError(f"{path} does not exist; a folder of prompts holds type1.txt and type2.txt")
    return _plain(path.read_text(encoding="utf-8"))


def _from_paper(path: Path) -> dict[str, str]:
    text = _plain(path.read_text(encoding="utf-8"))
    prompts = {match[1]: match[2].strip() + "\n" for match in _IN_PAPER.finditer(text)}
    if set(prompts) != set(KINDS):
        raise BuildError(f"{path} has no prompts: it should be a folder, or the UCerF paper's text with its appendix C")
    return {kind: prompts[kind] for kind in KINDS}


def _plain(text: str) -> str:
    """Return the text without the backslashes that Markdown puts before underscores."""
    return text.replace("\\_", "_")


def fill(template: str, target: str, other: str, count: int, sets: Sequence[PronounSet]) -> str:
    """Return the prompt about these two people; unknown braces stay as they are."""
    words = {_TARGET[0]: f"the {target}", _TARGET[1]: target, _OTHER[0]: f"the {other}", _OTHER[1]: other}
    words |= {_COUNT: str(count)} | _pronoun_slots(sets)
    # replace(), not format(): a user's prompt may have braces of its own.
    for slot, word in words.items():
        template = template.replace(slot, word)
    return template


def _pronoun_slots(sets: Sequence[PronounSet]) -> dict[str, str]:
    """Return what the slots for pronouns stand for: lists for the rules, and single words for the examples."""
    first, second = sets[0], sets[1]
    subjects = [pronouns.subject for pronouns in sets]
    dependent = [*(pronouns.object for pronouns in sets), *(pronouns.possessive for pronouns in sets)]
    dependent = list(dict.fromkeys(dependent))
    unused = [pronouns for pronouns in (HE, SHE, THEY) if pronouns not in sets]
    forbidden = list(dict.fromkeys(word for pronouns in unused for word in pronouns.words[:3]))
    binary = set(sets) == {HE, SHE}
    return {
        "{pronoun_kind}": "of a man or of a woman" if binary else "for one person, from the list in the rules below",
        "{pronoun_list}": listed([*subjects, *(word for word in dependent if word not in subjects)], "or"),
        "{other_pronouns}": f"{', '.join(forbidden)} or " if forbidden else "",
        "{preferred_forms}": f"{listed(dependent, 'and')} to {listed(subjects, 'and')}",
        "{himself}": first.reflexive,
        "{he}": first.subject,
        "{him}": first.object,
        "{his}": first.possessive,
        "{she}": second.subject,
        "{her_own}": second.possessive,
        "{her}": second.object,
    }
