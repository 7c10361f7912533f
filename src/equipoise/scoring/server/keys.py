"""The key of a server: read from the environment, sent as a header, shown nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ...records import ModelError

KEYS = ("EQUIPOISE_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first that is set is sent."""

SHORTEST = 8
"""Characters of the shortest key that is taken out of what a server answers; "EMPTY" and the like are not secret."""


def _spelled(character: str) -> str:
    """Return a pattern for a character as it is, in JSON (\\u002B, as .NET writes +), in an address and in HTML."""
    if character.isalnum():
        return character
    code, name = ord(character), {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}.get(character, "#")
    return rf"(?:\\?{re.escape(character)}|(?i:\\u00{code:02x}|%{code:02x}|&#0*{code};|&#x0*{code:x};)|&{name};)"


class Key:
    """The key, or none. Frames, messages and `repr` hold this object, never its text."""

    def __init__(self, text: str = "") -> None:
        self.__text = text

    @classmethod
    def from_environment(cls, names: Sequence[str] = KEYS) -> Key:
        """Return the key of the first variable that is set; one that no header can carry is refused."""
        for name in names:
            text = os.environ.get(name, "").strip()
            if text and not all("!" <= character <= "~" for character in text):
                raise ModelError(f"the key in {name} holds a space or a character that is not ASCII; set it again")
            if text:
                return cls(text)
        return cls()

    def __call__(self, request: Any) -> Any:
        """Return a request of httpx with the key in its header."""
        if self.__text:
            request.headers["Authorization"] = f"Bearer {self.__text}"
        return request

    def hidden(self, text: str, *, shortest: int = SHORTEST) -> str:
        """Return a text without the key, in whatever spelling: some servers quote it."""
        if len(self.__text) < max(shortest, 1):
            return text
        return re.sub("".join(map(_spelled, self.__text)), "…", text)

    def __repr__(self) -> str:
        return "Key(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not stored")

    def __getstate__(self) -> Any:
        raise TypeError("a key is not stored")
