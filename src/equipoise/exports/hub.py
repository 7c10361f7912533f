"""Uploads a run or a dataset to a repository of the Hugging Face hub. Nothing is ever uploaded without being asked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HfHubHTTPError

from ..records import EquipoiseError

RUN_FILES = ("manifest.json", "measurements.csv", "outcomes.parquet", "pairs.parquet")
"""What is uploaded of a run: numbers and identifiers, no sentences."""

SENTENCES = ("examples.parquet", "reasoning.jsonl")
"""What holds the sentences of a dataset; uploaded only on request, since a licence may forbid it."""


@dataclass(frozen=True)
class Upload:
    """Files for a repository: the name of each there, and its content or its path here."""

    repository: str
    files: tuple[tuple[str, Path | bytes], ...]

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(len(item) if isinstance(item, bytes) else item.stat().st_size for _, item in self.files)


def run_files(folder: Path, *, sentences: bool) -> list[tuple[str, Path | bytes]]:
    """Return the files of a run that go into a repository."""
    names = (*RUN_FILES, *(SENTENCES if sentences else ()))
    return [(name, folder / name) for name in names if (folder / name).is_file()]


def dataset_files(folder: Path) -> list[tuple[str, Path | bytes]]:
    """Return all files of a folder with a dataset."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    if not files:
        raise EquipoiseError(f"{folder}: holds no files to upload")
    return [(path.relative_to(folder).as_posix(), path) for path in files]


def push(upload: Upload, *, private: bool = True) -> str:
    """Return the address of the commit, after uploading all files in one; a missing repository is made."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", upload.repository):
        raise EquipoiseError(f"{upload.repository!r} is not the name of a repository, such as owner/name")
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    try:
        api.create_repo(upload.repository, repo_type="dataset", private=private, exist_ok=True)
        commit = api.create_commit(
            upload.repository, _operations(upload.files), commit_message="Add results", repo_type="dataset"
        )
    except HfHubHTTPError as error:
        reason = " ".join(str(error).split())
        raise EquipoiseError(f"the hub refused {upload.repository}: {reason}; is a token set (HF_TOKEN)?") from None
    except Exception as error:  # no network, a proxy, a server in trouble
        raise EquipoiseError(f"the hub cannot be reached ({type(error).__name__}); nothing was uploaded") from error
    return str(commit.commit_url)


def _operations(files: Sequence[tuple[str, Path | bytes]]) -> list[CommitOperationAdd]:
    return [
        CommitOperationAdd(name, content if isinstance(content, bytes) else str(content)) for name, content in files
    ]
