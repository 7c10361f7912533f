"""Whatever runs out of memory ends in one sentence and exit code 2, also inside a C++ library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from equipoise.cli.memory import NO_MEMORY, is_out_of_memory

ENDED = """
import ctypes
from equipoise.cli.console import clear_errors
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
