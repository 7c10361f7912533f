"""Every mistake is one sentence and exit code 2, in the words of the command line; running out of memory, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from equipoise.cli.errors import NO_MEMORY, in_options, is_out_of_memory
from equipoise.options import OptionError
from equipoise.records import ModelError

ENDED = """
import ctypes
from equipoise.cli.errors import clear_errors
with clear_errors():
    {body}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C++ runtime is found by its name on Linux")
@pytest.mark.parametrize(
    "body",
    [
        'ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev()',  # what an exception that nothing catches ends in
        "raise MemoryError",
        "bytearray(1 << 62)",
        "raise ImportError('x.so: failed to map segment from shared object')",
        """raise RuntimeError("can't start new thread")""",
        "raise OSError(12, 'Cannot allocate memory')",
    ],
)
def test_running_out_of_memory_ends_in_one_sentence(body: str) -> None:
    command = [sys.executable, "-c", ENDED.format(body=body)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"equipoise: {NO_MEMORY}\n")


def test_other_errors_are_not_taken_for_it() -> None:
    assert not any(map(is_out_of_memory, (RuntimeError("a bug"), ImportError("no such name"), OSError(2, "No file"))))


@pytest.mark.parametrize(
    ("sentence", "printed"),
    [
        ("it runs only if trust_remote_code is set", "it runs only if --trust-remote-code is set"),
        ("the column 'answer_space' of answer_space.csv; see my_answer_space", None),
        ("the level of the model", None),
    ],
)
def test_an_argument_becomes_its_option(sentence: str, printed: str | None) -> None:
    assert in_options(ModelError(sentence)) == (printed or sentence)


def test_an_option_that_cannot_be_used_so_is_named_as_on_the_command_line() -> None:
    error = OptionError("metrics and worker_cores need cluster, not metrics", "metrics", "worker_cores", "cluster")
    assert in_options(error) == "--metric and --worker-cores need --cluster, not metrics"
