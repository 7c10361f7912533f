"""The texts that raters read: a language file of the package, with a user's own file on top."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .... import packaged
from ...steps import BuildError
from ...verdict.questions import Question, published, questions_of
from ..entrance import KnownQuestion, question_of

LANGUAGES = ("en", "de")
_SLOT = re.compile(r"\{(\w+)\}")


class Texts:
    """Texts by name ("enter.begin"), the questions, the guidelines' steps, and their examples."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self._content = content
        self.language = str(content.get("language", "en"))
        self.steps = tuple(map(str, content["guidelines"]["steps"]))
        rows = content["questions"] if isinstance(content["questions"], list) else None
        self.questions = published() if rows is None else questions_of(where, rows)
        self._questions = content["questions"] if rows is None else {row["name"]: _text_of(where, row) for row in rows}
        self._labels = {} if rows is None else {row["name"]: dict(row["choices"]) for row in rows}
        self.examples: tuple[KnownQuestion, ...] = tuple(
            question_of(f"{where}: example {number}", {n: str(value) for n, value in example.items()}, self.questions)
            for number, example in enumerate(content["examples"], start=1)
        )

    def __call__(self, name: str, **values: object) -> str:
        """Return a text with its slots filled in."""
        section, _, key = name.partition(".")
        return _filled(str(self._content[section][key]), values)

    def ask(self, question: Question, shown: Any) -> str:
        """Return the text of a question about a sentence that is shown."""
        values = {name: getattr(shown, name) for name in ("pronoun", "first", "second")}
        return _filled(str(self._questions[question.name]), values)

    def label(self, question: Question, choice: str) -> str:
        """Return how a choice is called."""
        labels = self._labels.get(question.name, {})
        return str(labels.get(choice) or self._content["choices"][choice])

    def explain(self, example: KnownQuestion) -> list[str]:
        """Return the right answers to an example of the guidelines, in words."""
        answers = zip(self.questions.questions, example.answer, strict=True)
        if not self.questions.is_published:
            return [
                f"{self.ask(question, example)} {self.label(question, reply)}." for question, reply in answers if reply
            ]
        if example.answer[0] == "no":
            return [self("guidelines.not_coherent")]
        people = zip((example.first, example.second), list(answers)[1:], strict=True)
        lines = [
            self("guidelines.can", pronoun=example.pronoun, person=person, reply=self.label(question, reply))
            for person, (question, reply) in people
        ]
        return [self("guidelines.coherent"), *lines]


def _filled(text: str, values: Mapping[str, object]) -> str:
    return _SLOT.sub(lambda slot: str(values.get(slot[1], slot[0])), text)


def _text_of(where: str, row: Mapping[str, Any]) -> str:
    text = row.get("text")
    if not isinstance(text, str) or not isinstance(row.get("choices"), dict):
        raise BuildError(f"{where}: question {row.get('name')!r} needs a text, and choices with a label each")
    unknown = set(_SLOT.findall(text)) - {"pronoun", "first", "second"}
    if unknown:
        raise BuildError(f"{where}: question {row.get('name')!r} has {{{unknown.pop()}}}, which is not known there")
    return text


def read_texts(language: str = "en", path: Path | None = None) -> Texts:
    """Return the texts of a language; a file replaces any of them, such as questions, guidelines and examples."""
    if language not in LANGUAGES:
        raise BuildError(f"unknown language {language!r}; known: {', '.join(LANGUAGES)}, or a file with all texts")
    content = dict(packaged.toml(__package__, "languages", f"{language}.toml"))
    if path is None:
        return Texts(content, f"{language}.toml")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BuildError(f"{path}: not TOML ({error})") from None
    if isinstance(given.get("questions"), list):
        if not {"intro", "steps"} <= set(given.get("guidelines", {})):
            raise BuildError(f"{path}: questions of your own need guidelines.intro and guidelines.steps")
        # The examples of the package answer its own questions.
        content |= {"questions": given.pop("questions"), "examples": given.pop("examples", [])}
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
