"""The data files that come with the package; each is beside the module that reads it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


def text(package: str, *path: str) -> str:
    """Return the text of a file in the folder of a package (`__package__` of the module that asks)."""
    return resources.files(package).joinpath(*path).read_text(encoding="utf-8")


@cache
def toml(package: str, *path: str) -> Mapping[str, Any]:
    """Return what a TOML file there holds; it is read once."""
    return tomllib.loads(text(package, *path))
