"""The texts that raters read: a language file of the package, with a user's own file on top."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ...steps import BuildError
from ..entrance import KnownQuestion, question_of

LANGUAGES = ("en", "de")
_SLOT = re.compile(r"\{(\w+)\}")


class Texts:
    """Texts by name ("enter.begin"), the guidelines' steps, and their examples."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self._content = content
        self.language = str(content.get("language", "en"))
        self.steps = tuple(map(str, content["guidelines"]["steps"]))
        self.examples: tuple[KnownQuestion, ...] = tuple(
            question_of(f"{where}: example {number}", {name: str(value) for name, value in example.items()})
            for number, example in enumerate(content["examples"], start=1)
        )

    def __call__(self, name: str, **values: object) -> str:
        """Return a text with its slots filled in."""
        section, _, key = name.partition(".")
        return _SLOT.sub(lambda slot: str(values.get(slot[1], slot[0])), str(self._content[section][key]))


def read_texts(language: str = "en", path: Path | None = None) -> Texts:
    """Return the texts of a language; a file replaces any of them, such as questions, guidelines and examples."""
    if language not in LANGUAGES:
        raise BuildError(f"unknown language {language!r}; known: {', '.join(LANGUAGES)}, or a file with all texts")
    packaged = resources.files(__package__).joinpath("languages", f"{language}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(packaged)
    if path is None:
        return Texts(content, f"{language}.toml")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: not TOML ({error})") from None
    for section, texts in given.items():
        content[section] = _merged(path, section, content.get(section), texts)
    return Texts(content, str(path))


def _merged(path: Path, section: str, known: Any, texts: Any) -> Any:
    """Return a section of the package with the user's texts in it; raise BuildError for a text that does not exist."""
    if section == "examples" or not isinstance(known, dict):
        if known is None or not isinstance(texts, type(known)):
            raise BuildError(f"{path}: {section!r} is not a section of the texts")
        return texts
    for name, text in texts.items() if isinstance(texts, dict) else ():
        if name not in known or not isinstance(text, type(known[name])):
            raise BuildError(f"{path}: {section}.{name} is not one of the texts")
        unknown = set(_SLOT.findall(str(text))) - set(_SLOT.findall(str(known[name])))
        if unknown:
            raise BuildError(f"{path}: {section}.{name} has {{{unknown.pop()}}}, which is not known there")
    return {**known, **texts}
