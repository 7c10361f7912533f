"""A package of somebody else's, as it is when it is installed: a module and its entry points."""

from __future__ import annotations

from pathlib import Path


def write_plug_in(folder: Path, name: str, points: str, code: str = "", *, version: str = "1.0") -> None:
    """Write a package into a folder: its entry points and, where it has code, the module of its name."""
    module = name.replace("-", "_")
    if code:
        (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
