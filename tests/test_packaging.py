"""What is shipped: the wheel, its extras, the container and the conda recipe agree with pyproject.toml."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from equipoise import __version__
from equipoise.cli.errors import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from a copy of the sources."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(out)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=120)
    (file,) = out.glob("*.whl")
    return file


def test_the_wheel_holds_every_file_of_the_package_and_its_types(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "equipoise"
    files = [file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    missing = {f"equipoise/{file.relative_to(package).as_posix()}" for file in files} - inside
    assert not missing and "equipoise/py.typed" in inside
    assert wheel.name == f"equipoise-{__version__}-py3-none-any.whl"


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_without_extras(wheel: Path, tmp_path: Path) -> None:
    """Only the wheel and its required packages: the extras' modules are hidden."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)

    def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(tmp_path / "venv" / "bin" / "python"), "-c", code, *words]
        environment = {"PATH": "", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    site = python("import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    zipfile.ZipFile(wheel).extractall(site)
    # The required packages are those of this environment; a .pth in it (such as an editable install) is not followed.
    (Path(site) / "dependencies.pth").write_text(str(Path(yaml.__file__).parents[1]))
    assert python("import equipoise; print(equipoise.__file__)").stdout.startswith(site)
    hide = f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))\n"
    start = hide + "from equipoise.cli import main; main()"
    ran = python(start, "audit", "planted:strength=2", "--limit", "6", "--resamples", "20", "--out", "run")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "run" / "report.html").is_file()
    figures = python(start, "report", "run", "--as", "figures")
    assert figures.returncode == 2 and figures.stderr.count("\n") == 1
    assert "matplotlib: pip install 'equipoise[figures]'" in figures.stderr
    survey = python(start, "build", "survey", "folder")
    assert survey.returncode == 2 and "pip install 'equipoise[builder]'" in survey.stderr
    rehearsed = python(start, "build", "simulate", "folder")
    assert rehearsed.returncode == 2 and "pip install 'equipoise[builder]'" in rehearsed.stderr
    viewed = python(start, "view", "run")
    assert viewed.returncode == 2 and "pip install 'equipoise[view]'" in viewed.stderr
    assert python(start, "view", "run", "--export", "site").returncode == 0, "static pages need no server"


def test_every_module_with_an_extra_is_in_that_extra() -> None:
    extras = {
        name: {re.sub(r"\[.*", "", Requirement(line).name).replace("-", "_").lower() for line in lines}
        for name, lines in PROJECT["optional-dependencies"].items()
    }
    provided = {"mlflow": "mlflow_skinny", "multipart": "python_multipart"}
    for module, extra in EXTRAS.items():
        assert provided.get(module, module).lower() in extras[extra], module
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(everything).extras == set(extras) - {"all", "dev", "docs"}


def test_the_conda_recipe_requires_what_the_wheel_requires() -> None:
    from rattler_build import RenderConfig, Stage0Recipe, VariantConfig

    (rendered,) = Stage0Recipe.from_file(str(ROOT / "conda" / "recipe.yaml")).render(VariantConfig(), RenderConfig())
    assert rendered.recipe.to_dict()["package"]["version"] == __version__
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    wanted = {line.replace("torch>", "pytorch>") for line in PROJECT["dependencies"]}
    listed = {line.replace(" ", "", 1) for line in recipe["requirements"]["run"]}
    assert listed == {*wanted, f"python{PROJECT['requires-python']}"}


def test_the_dockerfile_is_clean() -> None:
    command = [Path(sys.executable).parent / "hadolint", ROOT / "Dockerfile"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_citation_is_of_this_version_and_cites_the_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (__version__, PROJECT["license"])
    papers = tomllib.loads((ROOT / "src/equipoise/topics/citations.toml").read_text(encoding="utf-8"))
    titles = " ".join(re.sub(r"[{}]", "", paper["bibtex"]) for paper in papers.values())
    assert all(reference["title"] in titles for reference in citation["references"])


def test_the_workflow_runs_the_same_script_as_every_other_ci() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert ".ci/run" in [step.get("run") for step in workflow["jobs"]["tests"]["steps"]]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert {"ruff-check", "ruff-format", "mypy"} <= {hook["id"] for hook in hooks}
