"""The rules of the house plan: who may import whom, what a bare import costs, and what a file looks like."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(equipoise.__file__).resolve().parent
FILES = sorted(PACKAGE.rglob("*.py"))

ROWS = (
    ("cli",),
    ("papers", "view"),
    ("suites", "verification", "subset", "asking"),
    ("run", "report", "builder", "exports", "training", "doctor"),
    ("media", "topics"),
    ("verdict",),
    ("comparing",),
    ("settings",),
    ("runs", "measuring"),
    ("datasets", "tasks", "scoring", "metrics", "stats"),
    ("options",),
    ("catalog", "cache", "progress", "uncertainty", "serving"),
    ("records", "files", "packaged", "cores", "garbage", "interruption"),
)
"""Top to bottom: a module imports rows below its own, and its own package, and nothing else of ours."""

LEVEL = {name: level for level, row in enumerate(ROWS) for name in row}

NAMED_FOR = {
    "torch": ("scoring/huggingface/*.py", "training/*.py"),
    "transformers": ("scoring/huggingface/*.py", "training/*.py"),
    "huggingface_hub": ("scoring/huggingface/*.py", "exports/hub.py"),
    "httpx": ("*_client.py",),
    "ray": ("scoring/cluster/*.py",),
    "mlflow": ("exports/trackers.py",),
    "wandb": ("exports/trackers.py",),
    "tensorboardX": ("exports/trackers.py",),
    "matplotlib": ("media/figure.py",),
    "fastapi": ("builder/survey/web/*.py", "view/app.py"),
    "uvicorn": ("serving.py",),
    "sqlalchemy": ("builder/survey/database/*.py",),
}
"""Heavy packages, and the only files that may import each, as patterns."""


def name_of(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def part_of(file: Path) -> str:
    """Return the room a file is in: its top-level module or package."""
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def imported(file: Path) -> tuple[tuple[str, ...], ...]:
    """Return every module the file imports, as its dotted parts, wherever in the file it does so."""
    return tuple(_imported(file))


def _imported(file: Path) -> Iterator[tuple[str, ...]]:
    here = ("equipoise", *file.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            yield from ((*module, alias.name) for alias in node.names)


def ours(file: Path) -> set[str]:
    """Return the rooms of ours that the file imports from; a name of the package itself (a version) is no room."""
    rooms = {parts[1] for parts in imported(file) if parts[0] == "equipoise" and len(parts) > 1}
    return rooms & set(LEVEL)


def run_python(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def inside(file: Path) -> bool:
    return file.name not in ("__init__.py", "__main__.py") or file.parent != PACKAGE


def upward_imports(file: Path) -> list[str]:
    room = part_of(file)
    if room not in LEVEL:
        return [f"{name_of(file)}: {room} has no row: give it one here and in the design"]
    upwards = {name for name in ours(file) if name != room and LEVEL[name] <= LEVEL[room]}
    return [f"{name_of(file)} imports {name}, which is not below it" for name in sorted(upwards)]


def test_every_room_of_a_row_exists_and_the_plan_shows_the_same_rows() -> None:
    rooms = {part_of(file) for file in FILES if inside(file)}
    assert rooms == set(LEVEL)
    plan = (ROOT / "docs" / "decisions" / "rooms.md").read_text(encoding="utf-8").split("```")[1]
    assert [tuple(row.split(" · ")) for row in plan.strip().splitlines()] == list(ROWS)


def test_imports_go_downwards_only() -> None:
    assert not [fault for file in FILES if inside(file) for fault in upward_imports(file)]


MODULES = {file.relative_to(PACKAGE.parent).with_suffix("").parts: file for file in FILES}
"""Dotted parts of a module, as a tuple -> its file; a package is its `__init__`."""


def imported_files(file: Path) -> set[Path]:
    """Return the files of ours that a file imports: `from .a import b` is a/b.py where there is one, else a."""
    files = set()
    for parts in imported(file):
        for module in (parts, (*parts, "__init__"), parts[:-1], (*parts[:-1], "__init__")):
            if module in MODULES:
                files.add(MODULES[module])
                break
    # The package's own face (`__version__`, and the lazy names of the pipeline) is above and below everything.
    return files - {file, PACKAGE / "__init__.py"}


def import_cycles() -> list[str]:
    """Return each cycle of imports once, lazy imports included, as the file names along it."""
    graph = {file: imported_files(file) for file in FILES}
    cycles: dict[frozenset[Path], str] = {}
    finished: set[Path] = set()

    def visit(file: Path, path: list[Path]) -> None:
        if file in path:
            cycle = path[path.index(file) :]
            cycles.setdefault(frozenset(cycle), " -> ".join(map(name_of, [*cycle, file])))
        elif file not in finished:
            for target in sorted(graph[file]):
                visit(target, [*path, file])
            finished.add(file)

    for file in FILES:
        visit(file, [])
    return list(cycles.values())


def test_no_imports_go_in_circles_lazy_ones_included() -> None:
    assert not import_cycles()


def test_the_import_reader_sees_imports_of_every_kind() -> None:
    found = set(imported(PACKAGE / "cli" / "audit.py"))
    assert ("equipoise", "run", "audit") in found, "an import inside a function was missed"
    assert ("equipoise", "options", "RunOptions") in found, "a relative import was missed"
    assert ours(PACKAGE / "cli" / "audit.py") >= {"run", "options", "settings", "suites"}


def test_only_the_files_named_for_a_heavy_package_import_it() -> None:
    for package, patterns in NAMED_FOR.items():
        importers = {name_of(file) for file in FILES if any(parts[0] == package for parts in imported(file))}
        strangers = sorted(name for name in importers if not any(fnmatch(name, pattern) for pattern in patterns))
        assert not strangers, f"only {' and '.join(patterns)} may import {package}, not {strangers}"
        assert importers, f"nothing imports {package} any more: take it off the list"


def test_every_pattern_for_a_heavy_package_names_a_file() -> None:
    names = [name_of(file) for file in FILES]
    patterns = [pattern for patterns in NAMED_FOR.values() for pattern in patterns]
    assert not [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in names)]


def test_the_bare_import_loads_neither_torch_nor_the_pipeline() -> None:
    loaded = run_python("import sys, equipoise; print(*sys.modules)").split()
    assert not {"torch", "transformers", "pandas", "pyarrow", "rich", "typer"} & set(loaded)


def test_help_loads_neither_torch_nor_tables() -> None:
    code = (
        "import sys\nfrom equipoise.cli import main\nsys.argv = ['equipoise', '--help']\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\nprint('LOADED', *sys.modules)"
    )
    loaded = run_python(code).rpartition("LOADED")[2].split()
    assert not {"torch", "transformers", "pandas", "numpy.random", "pyarrow"} & set(loaded)


@pytest.mark.slow
def test_a_scorer_needs_no_package_for_tables() -> None:
    absent = ("pandas", "pyarrow", "rich", "typer")
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in absent)
    check = f"print(any(sys.modules.get(name) for name in {absent!r}))"
    assert run_python(f"import sys\n{blocked}import equipoise.scoring.huggingface.engine\n{check}") == "False"


def test_the_public_names() -> None:
    assert sorted(equipoise.__all__) == [
        "Run",
        "__version__",
        "ask",
        "audit",
        "compare",
        "gate",
        "import_results",
        "load",
        "remeasure",
        "summary",
    ]
    assert sorted(dir(equipoise)) == sorted(equipoise.__all__)
    for name in equipoise.__all__:
        assert getattr(equipoise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = equipoise.nonsense


def test_every_file_stays_under_400_lines() -> None:
    lengths = {name_of(file): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert not {name: length for name, length in lengths.items() if length > 400}


def undescribed(file: Path) -> list[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    bare = [node.name for node in nodes if not node.name.startswith("_") and not ast.get_docstring(node)]
    return [f"{name_of(file)}: {name}" for name in ([] if ast.get_docstring(tree) else ["the module"]) + bare]


def test_the_pipeline_fits_on_a_screen_and_names_no_concrete_part() -> None:
    source = (PACKAGE / "run.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 200
    concrete = {
        node.name
        for room in ("scoring", "tasks", "datasets")
        for file in (PACKAGE / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    }
    assert {"PlantedEngine", "HuggingFaceEngine", "NextWord", "MultipleChoice", "ChainOfThought"} <= concrete
    shapes = {"Engine", "Task", "Dataset", "ScoreStore", "TextStore"}
    assert shapes <= concrete
    names = set(re.findall(r"\w+", source))
    assert names & concrete == shapes


def test_everything_public_has_a_docstring() -> None:
    assert not [fault for file in FILES for fault in undescribed(file)]


def test_every_folder_says_in_two_lines_what_comes_in_and_what_goes_out() -> None:
    folders = {file.parent for file in FILES if "migrations" not in file.parts} - {PACKAGE}
    faults = []
    for folder in sorted(folders):
        init = folder / "__init__.py"
        text = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) if init.is_file() else ""
        if [line.partition(":")[0] for line in (text or "").splitlines()[:2]] != ["In", "Out"]:
            faults.append(name_of(init))
    assert not faults, "the docstring must begin with a line `In: …` and a line `Out: …`"


def test_files_are_named_for_what_is_in_them() -> None:
    vague = re.compile(r"(utils?|common|helpers?|managers?|base|misc)(\.py)?")
    assert not [name_of(file) for file in FILES if any(map(vague.fullmatch, file.relative_to(PACKAGE).parts))]


def tracked() -> list[Path]:
    """Return the files of the repository, or of the unpacked source where there is none."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / line for line in listed.stdout.splitlines()]
    return [file for file in ROOT.rglob("*") if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)]


def test_no_file_names_a_machine_or_a_package_index() -> None:
    # Put together here, so that this file does not hold what it looks for.
    folders = "|".join(("/wor" + "k/", "/ro" + "ot/", "/hom" + r"e/\w+/", "/tmp/bui" + "ld", "/Use" + r"rs/\w+/"))
    indexes = "|".join(
        ("index" + "-url", "find" + r"-links", r"https?://(?!127\.0\.0\.1|localhost)[^\s\"')]+/sim" + "ple")
    )
    suspect = re.compile(f"(?<![\\w.])(?:{folders})|{indexes}")
    found = []
    for file in tracked():
        if not file.is_file() or file.name == "LICENSE":
            continue
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{file.relative_to(ROOT)}:{n}: {line}" for n, line in enumerate(lines, 1) if suspect.search(line)]
    assert not found


def test_public_names_are_listed_loaded_and_no_others() -> None:
    assert dir(equipoise) == sorted(equipoise.__all__) == sorted(set(equipoise.__all__))
    for name in equipoise.__all__:
        made = getattr(equipoise, name)
        home = equipoise.HOMES.get(name, "runs" if name == "Run" else "run")
        assert name.startswith("__") or made.__module__.startswith(f"equipoise.{home}"), name
    with pytest.raises(AttributeError, match=r"^module 'equipoise' has no attribute 'audits'$"):
        equipoise.audits  # noqa: B018
    assert not hasattr(equipoise, "import_module")


def test_the_program_listens_before_it_loads_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    import equipoise.__main__ as program
    import equipoise.cli

    told: list[str] = []
    monkeypatch.setattr(program, "listen", lambda: told.append("listens"))
    monkeypatch.setattr(equipoise.cli, "main", lambda: told.append("runs"))
    program.main()
    assert told == ["listens", "runs"]


@pytest.mark.parametrize(("name", "runs"), [("__main__", ["runs"]), ("equipoise.__main__", [])])
def test_the_module_is_a_program_only_where_it_is_run(
    name: str, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import equipoise.cli
    import equipoise.interruption

    told: list[str] = []
    monkeypatch.setattr(equipoise.interruption, "listen", lambda: None)
    monkeypatch.setattr(equipoise.cli, "main", lambda: told.append("runs"))
    monkeypatch.delitem(sys.modules, "equipoise.__main__", raising=False)
    runpy.run_module("equipoise.__main__", run_name=name)
    assert told == runs
