"""What running out of memory looks like, and one sentence for it, also where a C++ library would abort."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

NO_MEMORY = (
    "there is not enough memory for this; what was finished is kept: free some and run the command again, or try "
    "a smaller model, --limit or fewer --data at once"
)
_SIGNS = (
    *("failed to map segment", "cannot allocate memory", "can't start new thread"),
    *("unable to allocate", "can't allocate memory", "bad_alloc"),
)
_keep: list[Any] = []


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out: not all libraries raise MemoryError."""
    if isinstance(error, MemoryError):
        return True
    kinds = (ImportError, RuntimeError, OSError, SystemError)
    return isinstance(error, kinds) and any(sign in str(error).lower() for sign in _SIGNS)


def end_in_a_sentence(code: int) -> None:
    """Let C++ libraries whose memory runs out end this process with a sentence and that exit code, not an abort."""
    if sys.platform != "linux":
        return
    line = f"equipoise: {NO_MEMORY}\n".encode()

    def ended() -> None:
        os.write(2, line)
        os._exit(code)

    try:
        handler = ctypes.CFUNCTYPE(None)(ended)
        # std::set_terminate; a library without it (another C++ runtime) keeps its own way to end.
        ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(handler)
    except (OSError, AttributeError):
        return
    _keep.append(handler)
