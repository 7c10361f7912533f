"""One clear sentence and an exit code for every mistake that a user can fix, also where memory runs out."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from ..interruption import interrupted, say, unwinding
from ..options import RENAMED
from ..records import EquipoiseError, OtherRunError
from .console import tell
from .parameters import AUDIT

FAILED = 2
"""Exit code of whatever could not be done: bad input, a full disk, an interruption."""

SENTENCE = 600
"""Characters of an error at most: a cell of ten megabytes is not worth printing."""

EXTRAS = {
    "matplotlib": "figures",
    "openpyxl": "excel",
    "sentence_transformers": "embeddings",
    "zipfile_zstd": "inspect",
    "ray": "ray",
    **dict.fromkeys(("peft", "trl"), "train"),
    **dict.fromkeys(("mlflow", "wandb", "tensorboardX"), "trackers"),
    **dict.fromkeys(("fastapi", "uvicorn"), "view"),
    **dict.fromkeys(("alembic", "psycopg", "python_multipart", "multipart", "sqlalchemy"), "builder"),
}
"""Modules that come with an extra -> the extra."""

UsageError: Any = typer.BadParameter.__mro__[2]
"""What every wrong way to call a command is; taken from here because typer brings a click of its own."""

_ARGUMENT = re.compile(rf"(?<![\w.'\"/-])(?:{'|'.join(name for name in AUDIT if '_' in name)})(?![\w.'\"/-])")
"""Arguments of the library in a sentence; names without an underscore may be its words, so they are left alone."""

NO_MEMORY = (
    "there is not enough memory for this; what was finished is kept: free some and run the command again, or try "
    "a smaller model, --limit or fewer --data at once"
)
_SIGNS = (
    *("failed to map segment", "cannot allocate memory", "can't start new thread"),
    *("unable to allocate", "can't allocate memory", "bad_alloc"),
)
_keep: list[Any] = []


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn every mistake that a user can fix into one sentence and exit code 2, without a traceback."""
    end_in_a_sentence(FAILED)
    with unwinding():
        try:
            yield
            # Here, because a reader that went away is found out only now.
            sys.stdout.flush()
        except BaseException as error:
            # Whatever comes of an interruption: a worker that is gone, a file that is closed.
            if interrupted() or isinstance(error, KeyboardInterrupt):
                say()
                sys.exit(FAILED)
            with _explained():
                raise


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except EquipoiseError as error:
        fail(in_options(error))
    except UsageError as error:
        fail(_usage(error))
    except BrokenPipeError:
        _leave_quietly()
    except SystemExit as ended:
        # typer ends with 1 where the reader of the output has left.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        _leave_quietly()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        fail(f"this needs the package {package}: pip install 'equipoise[{_extra(package, error)}]'")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fail(f"the disk is full{_at(error)}; finished work is saved: free some space and run the command again")
        fail(NO_MEMORY if is_out_of_memory(error) else f"{error.strerror or error}{_at(error)}")
    except (MemoryError, ImportError, RuntimeError, SystemError) as error:
        if not is_out_of_memory(error):
            raise
        fail(NO_MEMORY)


def _extra(package: str, error: ModuleNotFoundError) -> str:
    """Return the extra that has the package, and all else that the command needs: surveys are served as well."""
    modules = {frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)}
    return "builder" if any(name.startswith("equipoise.builder") for name in modules) else EXTRAS[package]


def in_options(error: EquipoiseError) -> str:
    """Return an error of the library in the words of the command line: `--allow-pickle` for `allow_pickle`."""
    if isinstance(error, OtherRunError):
        return f"{error.fact}; choose another folder with --out, or delete that run with --replace"
    sentence = str(error)
    for name in error.names:
        sentence = re.sub(rf"(?<![\w-]){name}(?![\w-])", _flag, sentence, count=1)
    return _ARGUMENT.sub(_flag, sentence)


def _flag(match: re.Match[str]) -> str:
    option = AUDIT.get(match[0])
    return f"--{option.key if option else match[0].replace('_', '-')}"


def fail(sentence: str) -> NoReturn:
    """Say what is wrong on standard error, in one line, and end with exit code 2."""
    line = " ".join(sentence.split())
    if len(line) > SENTENCE:
        line = f"{line[: SENTENCE // 2]} … {line[-SENTENCE // 2 :]}"
    tell(f"equipoise: {line}", err=True)
    sys.exit(FAILED)


def _leave_quietly() -> NoReturn:
    """End well: the reader of the output (head, less) has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _usage(error: Any) -> str:
    old = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    if old in RENAMED:
        return f"{error.option_name} is now --{RENAMED[old].replace('_', '-')}"
    message = str(error.format_message()).replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    kinds = {known.name: known.param_type_name for known in context.command.params}
    if kinds.get(old) == "argument":
        return (
            f"{error.option_name} is not an option of {context.info_name}: write {context.command_path} {old.upper()}"
        )
    if message.startswith("Got unexpected extra argument") and "data" in kinds:
        message += "; data are named with --data"
    return f"{message} (see {context.command_path} --help)"


def _at(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


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
