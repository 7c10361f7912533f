"""Logs of inspect (`.eval` and `.json`) as results."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...records import DatasetError
from .documents import Document, parse_record, results_of
from .per_item import Results

ZSTANDARD = 93
"""The compression that inspect uses inside .eval files; Python before 3.14 cannot read it without help."""

MOST_BYTES = 2**28
"""The size of a part of a log at most; a sample of ours takes a few thousand bytes."""

DAMAGED = (
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError, NotImplementedError, EOFError, OSError),
    *(RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What reading something else than a log raises."""


def read_inspect(path: Path, model: str = "", dataset: str = "") -> list[Results]:
    """Return the results in a log, or in all logs of a folder, of tasks that Equipoise exported."""
    logs = [log for ending in ("*.eval", "*.json") for log in path.rglob(ending) if log.is_file()]
    files = [path] if path.is_file() else sorted(logs)
    if not files:
        raise DatasetError(f"{path}: holds no .eval or .json log of inspect")
    answers, flags, names = [], [], set()
    for file in files:
        try:
            header, samples = _read(file)
            if header["status"] != "success":
                ended = f"the evaluation ended with status {header['status']!r}"
                raise DatasetError(f"{file}: {ended}; run it to its end")
            names.add(model or _model_name(header))
            for sample in samples:
                document, logprobs, marks = _answer(sample, f"{file}: sample {sample.get('id')!r}")
                answers.append((document, logprobs))
                flags.append(marks)
        except DAMAGED as error:
            if isinstance(error, OSError) and error.filename:  # it cannot be opened
                raise
            raise DatasetError(f"{file}: is not a log of inspect") from None
    if len(names) > 1:
        raise DatasetError(f"{path}: holds logs of several models ({', '.join(sorted(names))}); import one at a time")
    return results_of(answers, model=names.pop(), source=str(path), flags=flags)


def _answer(sample: Mapping[str, Any], where: str) -> tuple[Document, list[float], list[str]]:
    """Return the question of a sample, its log-probabilities, and the flags of its prompt."""
    document = parse_record(sample.get("metadata") or {}, where)
    values = ((sample.get("scores") or {}).get("equipoise") or {}).get("metadata") or {}
    if "logprobs" not in values:
        raise DatasetError(f"{where}: has no log-probabilities; was it scored by its own scorer?")
    return document, list(map(float, values["logprobs"])), list(map(str, values.get("flags") or []))


def _model_name(header: Mapping[str, Any]) -> str:
    """Return the model's name: without its provider, and of a local folder only the last part."""
    evaluation = header.get("eval") or {}
    path = (evaluation.get("model_args") or {}).get("model_path")
    return Path(str(path)).name if path else str(evaluation.get("model", "")).partition("/")[2] or "model"


def _read(file: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """Return the header of a log and its samples."""
    if not zipfile.is_zipfile(file):
        log = json.loads(file.read_text(encoding="utf-8"))
        return log, iter(log.get("samples") or [])
    archive = zipfile.ZipFile(file)
    _support_zstandard(archive, file)
    # Here: a small file may unpack to more than any memory holds.
    if any(item.file_size > MOST_BYTES for item in archive.infolist()):
        raise DatasetError(f"{file}: has a part of more than {MOST_BYTES / 2**20:.0f} MiB")
    names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
    return json.loads(archive.read("header.json")), (json.loads(archive.read(name)) for name in names)


def _support_zstandard(archive: zipfile.ZipFile, file: Path) -> None:
    if hasattr(zipfile, "ZIP_ZSTANDARD") or all(item.compress_type != ZSTANDARD for item in archive.infolist()):
        return
    try:
        import zipfile_zstd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401
    except ModuleNotFoundError:
        convert = "or convert the log: inspect log convert --to json"
        raise DatasetError(f"{file}: reading it needs pip install 'equipoise[inspect]', {convert}") from None
