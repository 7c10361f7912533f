"""Data files are found beside the module that reads them."""

from __future__ import annotations

import pytest

from equipoise import packaged


def test_a_file_is_read_as_text_and_a_table_once() -> None:
    assert packaged.text("equipoise.datasets", "builtin.csv").startswith("id,type,text,")
    table = packaged.toml("equipoise.datasets", "sentiment.toml")
    assert {"nouns", "gender"} <= set(table)
    assert packaged.toml("equipoise.datasets", "sentiment.toml") is table


def test_a_file_is_found_in_a_folder_of_the_package() -> None:
    assert packaged.toml("equipoise.builder.survey.web", "languages", "en.toml")["language"] == "en"


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        packaged.text("equipoise.datasets", "nothing.toml")
