"""A new user's path with the wheel alone, in a fresh environment: `make newcomer`, which CI runs.

    python tests/newcomer.py --wheel dist/equipoise-….whl [--python PYTHON] [--harness .venv-harness/bin]
                             [--versions lowest] [--tests tests/runs …]

Install without extras, doctor, init, audit of the real default model, what a missing extra says, the extra for figures,
a notebook, export to lm-evaluation-harness, its own run there, import back, and a gate. Each step is printed with its
seconds; the first that does not do what the documentation promises ends the script with exit code 1.

Versions are those of the lock file, or the lowest or highest that pyproject.toml allows; of torch always the locked
one, since others bring gigabytes of CUDA. `--tests` also runs these quick tests there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = "8"
NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in sys.argv[1:]])
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print([sorted(output.get("data", {})) for cell in notebook.cells for output in cell.outputs])
"""

TORCH = "torch==2.13.0"
TOOLS = ("dev", "docs")
"""Extras for those who work on Equipoise: what they promise is the lock file."""

UCERF = """
import sys, equipoise
print(*(equipoise.load(name).parts[0].measured.get("ucerf", type="type2").value for name in sys.argv[1:]))
"""


class Broken(Exception):
    """A step did not do what the documentation promises."""


@dataclass(frozen=True)
class Newcomer:
    """An empty folder with an environment of its own."""

    folder: Path
    versions: str = "locked"

    @property
    def programs(self) -> Path:
        """Where the environment's programs are."""
        return self.folder / "venv" / "bin"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of a new user: no Python path, no datasets, programs of the fresh environment first."""
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "EQUIPOISE_DATA", "CI")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return {**kept, "PATH": f"{self.programs}{os.pathsep}{kept.get('PATH', '')}", "HF_HUB_OFFLINE": "1"}

    def run(self, step: str, command: Sequence[str | Path], *, code: int = 0, shows: str = "") -> str:
        """Return what the command printed; another exit code, or output without `shows`, breaks the path."""
        began = time.monotonic()
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        print(f"{time.monotonic() - began:6.1f} s  {step}", flush=True)
        printed = done.stdout + done.stderr
        if done.returncode != code or shows not in printed:
            wanted = f"exit code {code}" + (f" and {shows!r}" if shows else "")
            raise Broken(f"{step}: {' '.join(words)}\nwanted {wanted}, got {done.returncode}:\n{printed[-3000:]}")
        return printed

    def equipoise(self, step: str, *words: str, code: int = 0, shows: str = "") -> str:
        """Return what `equipoise` printed."""
        return self.run(step, ["equipoise", *words], code=code, shows=shows)

    def install(self, step: str, *packages: str | Path) -> None:
        """Install packages in the chosen versions, without compiling all of them to bytecode first."""
        command = [self.programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:"]
        allowed = self.folder / "allowed.txt"
        allowed.write_text("\n".join([*allowed_versions(self.versions), TORCH]), encoding="utf-8")
        self.run(step, [*command, "--disable-pip-version-check", "-c", allowed, *packages])


def allowed_versions(which: str) -> list[str]:
    """Return the lines of the lock file, or the lower ends of all ranges in pyproject.toml, or nothing."""
    if which == "locked":
        return (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name not in TOOLS for line in lines]
    ranges = [re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", line) for line in (*project["dependencies"], *extras)]
    ends = [f"{found[1]}=={found[2]}" for found in ranges if found and found[1] != "torch"]
    return ends if which == "lowest" else []


def start(newcomer: Newcomer, wheel: Path) -> None:
    """Install the wheel alone, look at the machine, write a configuration and audit the default model."""
    newcomer.install("install the wheel, without extras", TORCH, wheel)
    where = newcomer.run(
        "import it", [newcomer.programs / "python", "-c", "import equipoise; print(equipoise.__file__)"]
    )
    if not where.startswith(str(newcomer.folder)):
        raise Broken(f"equipoise is imported from {where}, not from the fresh environment")
    newcomer.equipoise("equipoise doctor", "doctor", shows="pip install 'equipoise[figures]'")
    newcomer.equipoise("equipoise init", "init", shows="audit.toml")
    audit = ("audit", "--config", "audit.toml", "--limit", SENTENCES, "--resamples", "100", "--out", "run")
    newcomer.equipoise("equipoise audit, the real model", *audit, shows="SmolLM2-135M-Instruct on builtin")
    for name in ("report.html", "measurements.csv", "manifest.json"):
        if not (newcomer.folder / "run" / name).is_file():
            raise Broken(f"the run has no {name}")
    newcomer.equipoise(
        "equipoise report --as figures, not installed",
        "report",
        "run",
        "--as",
        "figures",
        code=2,
        shows="equipoise[figures]",
    )


def look(newcomer: Newcomer, wheel: Path) -> None:
    """Install the extra for figures, and look at the run in a notebook."""
    newcomer.install("install the extra [figures] and a notebook", f"{wheel}[figures]", "nbclient", "ipykernel")
    newcomer.equipoise("equipoise report --as figures", "report", "run", "--as", "figures", "--format", "png")
    cells = ("import equipoise\nrun = equipoise.load('run')\nrun", "run.plot.flips()")
    shown = newcomer.run("a notebook", [newcomer.programs / "python", "-c", NOTEBOOK, *cells])
    if "text/html" not in shown or "image/png" not in shown:
        raise Broken(f"the notebook shows no table or no picture: {shown}")


def exchange(newcomer: Newcomer, harness: Path | None) -> None:
    """Export to lm-evaluation-harness, run it where it is installed, read its log back, and check both runs."""
    export = ("export", "lm-eval", "--limit", SENTENCES, "--out", "tasks")
    newcomer.equipoise("equipoise export lm-eval", *export, shows="equipoise_builtin_next_word")
    if harness is None:
        print("          (lm-evaluation-harness is not installed: `make harness`)")
        return
    code = "from equipoise.scoring.default_model import model_folder; print(model_folder())"
    model = newcomer.run("where the model is", [newcomer.programs / "python", "-c", code]).splitlines()[-1]
    words = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu", "--tasks"]
    words += ["equipoise_builtin_next_word", "--include_path", "tasks", "--log_samples", "--output_path", "logs"]
    newcomer.run("lm_eval run", [harness / "lm_eval", "run", *words])
    back = ("import", "--format", "lm-eval", "logs", "--out", "back", "--resamples", "100")
    newcomer.equipoise("equipoise import", *back)
    printed = newcomer.run("the same UCerF", [newcomer.programs / "python", "-c", UCERF, "run", "back"])
    ours, theirs = map(float, printed.split()[-2:])
    if abs(ours - theirs) > 1e-4:
        raise Broken(f"UCerF is {ours} here and {theirs} in lm-evaluation-harness")


def check(newcomer: Newcomer) -> None:
    """Gate the run: a bound that it meets, and one that it does not."""
    newcomer.equipoise("equipoise gate, passed", "gate", "run", "--require", "ucerf[type=type2] >= 0.10", "--insist")
    failed = ("gate", "run", "--require", "ucerf[type=type2] <= 0.10", "--insist", "--junit", "gate.xml")
    newcomer.equipoise("equipoise gate, failed", *failed, code=1, shows="FAILED")
    newcomer.equipoise("equipoise doctor --json", "doctor", "--json")
    if not json.loads((newcomer.folder / "run" / "manifest.json").read_text(encoding="utf-8"))["finished"]:
        raise Broken("the manifest does not say that the run is finished")


def test(newcomer: Newcomer, wheel: Path, files: Sequence[str]) -> None:
    """Run quick tests of the checkout with the wheel and the extras that they need."""
    extras = f"{wheel}[figures,excel,builder]"
    newcomer.install(
        "install the extras and pytest", extras, "pytest", "hypothesis", "jsonschema", "nbformat", "tensorboardX"
    )
    command = [newcomer.programs / "python", "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    print(newcomer.run("tests", [*command, f"--rootdir={ROOT}", *(ROOT / name for name in files)]).splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the fresh environment")
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--harness", type=Path, help="the folder with lm_eval")
    parser.add_argument("--versions", choices=("locked", "lowest", "highest"), default="locked")
    parser.add_argument("--tests", nargs="+", default=[], help="quick tests to run there as well")
    chosen = parser.parse_args()
    harness = chosen.harness.absolute() if chosen.harness and (chosen.harness / "lm_eval").is_file() else None
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder), chosen.versions)
        try:
            newcomer.run("a fresh environment", [chosen.python, "-m", "venv", "venv"])
            wheel = chosen.wheel.absolute()
            start(newcomer, wheel)
            look(newcomer, wheel)
            exchange(newcomer, harness)
            check(newcomer)
            if chosen.tests:
                test(newcomer, wheel, chosen.tests)
        except Broken as error:
            print(error)
            return 1
    print(f"{time.monotonic() - began:6.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
