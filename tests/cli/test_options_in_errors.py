"""The library speaks of arguments, the command line of options."""

from __future__ import annotations

import inspect

from equipoise.cli.audit import audit
from equipoise.cli.console import ARGUMENTS, with_options


def test_an_argument_becomes_its_option() -> None:
    sentence = "it comes with code, which runs only if trust_remote_code is set"
    assert with_options(sentence) == "it comes with code, which runs only if --trust-remote-code is set"
    untouched = "the column 'answer_space' of answer_space.csv; see my_answer_space"
    assert with_options(untouched) == untouched


def test_every_argument_is_an_option_of_audit() -> None:
    assert set(ARGUMENTS) <= set(inspect.signature(audit).parameters)
