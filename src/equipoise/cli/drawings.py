"""Files that commands make from runs: kept in the run's own folder, which then names them, or in another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..records import RunManifest


def keep_files(
    contents: Mapping[str, bytes], run: Path, out: Path | None, place: str, *, made_from: RunManifest
) -> list[Path]:
    """Write the files into `out`, or, in one step, into the folder `place` of the run; return where they are."""
    from ..files import write_together
    from ..runs import RunFolder

    if out is None:
        RunFolder(run).add({f"{place}/{name}": content for name, content in contents.items()}, made_from)
    else:
        write_together(out, contents)
    return [(out or run / place) / name for name in contents]


@contextmanager
def easel() -> Iterator[Path]:
    """Give a folder to draw into; nothing of it is left behind."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        yield Path(folder)


def drawn_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
