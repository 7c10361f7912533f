"""A run in MLflow (a real server), Weights & Biases (offline) and TensorBoard (its events)."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import pytest
from kept_texts import assert_kept

import equipoise
from equipoise.exports import trackers
from equipoise.exports.trackers import files_of, metrics_of, parameters_of
from equipoise.records import EquipoiseError
from equipoise.runs import Run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("tracked") / "run"
    made = equipoise.audit(
        "planted:strength=2,bias=0.5", limit=30, resamples=20, metrics=["ucerf"], by=["gender"], out=out
    )
    (out / "report.html").write_text("<p>the page</p>")
    return made


def test_names_hold_what_every_tracker_takes(run: Run) -> None:
    values = metrics_of(run)
    estimate = run.parts[0].measured.get("ucerf", type="type2").estimate  # type: ignore[union-attr]
    name = "builtin/next-word/ucerf/type.type2"
    assert (values[name], values[f"{name}.n"]) == (estimate.value, estimate.n)
    assert (values[f"{name}.low"], values[f"{name}.high"]) == (estimate.low, estimate.high)
    assert parameters_of(run)["model"] == run.manifest.model
    assert {file.name for file in files_of(run)} == {"report.html", "measurements.csv", "manifest.json"}


@pytest.fixture
def mlflow_server(tmp_path: Path) -> Iterator[str]:
    """Start a real MLflow server on loopback, from the other tools' environment."""
    folder = Path(os.environ.get("EQUIPOISE_HARNESS") or ROOT / ".venv-harness") / "bin"
    if not (folder / "mlflow").is_file():
        reason = "needs an MLflow server: run `make harness`"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = ["--backend-store-uri", f"sqlite:///{tmp_path}/mlflow.db", "--artifacts-destination", str(tmp_path / "a")]
    command = [str(folder / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1", *store]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    address = f"http://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.25)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # its workers too
        server.wait()


@pytest.mark.slow
def test_mlflow(run: Run, mlflow_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow

    mlflow.set_tracking_uri(mlflow_server)
    where = trackers.log_run(run, "mlflow")
    client = mlflow.MlflowClient(mlflow_server)
    experiment = client.get_experiment_by_name("equipoise")
    assert experiment is not None and mlflow_server in where
    (logged,) = client.search_runs([experiment.experiment_id])
    assert logged.info.status == "FINISHED" and logged.data.params["model"] == run.manifest.model
    assert logged.data.metrics == pytest.approx(metrics_of(run))
    artifacts = {file.path for file in client.list_artifacts(logged.info.run_id)}
    assert artifacts == {"report.html", "measurements.csv", "manifest.json"}


def log_records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a log in LevelDB's format: blocks of 32 KiB, a header of 7 bytes before each fragment."""
    place, record = 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack("<HB", content[place + 4 : place + 7])
        record += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last fragment
            yield record
            record = b""


@pytest.mark.slow
def test_wandb_offline(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    trackers.log_run(run, "wandb")
    wandb.teardown()  # its own process ends, and has written everything
    (events,) = tmp_path.rglob("*.wandb")
    records = [Record.FromString(data) for data in log_records(events.read_bytes())]
    updates = [item for record in records for item in (*record.history.item, *record.summary.update)]
    named = {item.key or "/".join(item.nested_key): item.value_json for item in updates}
    values = {name: json.loads(value) for name, value in named.items() if name.startswith("builtin")}
    assert values == pytest.approx(metrics_of(run))
    assert {file.path for record in records for file in record.request.log_artifact.artifact.manifest.contents} | {
        file.path for record in records for file in record.artifact.manifest.contents
    } == {"report.html", "measurements.csv", "manifest.json"}


def test_tensorboard(run: Run) -> None:
    from tensorboardX.proto.event_pb2 import Event

    folder = Path(trackers.log_run(run, "tensorboard"))
    (file,) = folder.iterdir()
    content, values, place = file.read_bytes(), {}, 0
    while place < len(content):
        (length,) = struct.unpack("<Q", content[place : place + 8])
        event = Event.FromString(content[place + 12 : place + 12 + length])
        values |= {item.tag: item.simple_value for item in event.summary.value if item.HasField("simple_value")}
        place += 12 + length + 4
        assert event.step == 0, "a run is one point in time"
    assert values == pytest.approx(metrics_of(run), rel=1e-6)


def test_a_missing_package_is_one_sentence_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(EquipoiseError, match=r"needs its package: pip install 'equipoise\[trackers\]'"):
        trackers.check_tracker("tensorboard")
    with pytest.raises(EquipoiseError, match="did you mean 'mlflow'"):
        trackers.check_tracker("mlflo")


def test_numbers_can_be_written_as_json(run: Run) -> None:
    json.dumps(metrics_of(run), allow_nan=False)


def test_names_and_parameters_are_as_they_were_kept(run: Run) -> None:
    hidden = [run.manifest.command, run.manifest.versions["equipoise"], str(run.path)]
    assert_kept("written/tracked", metrics_of(run), parameters_of(run), hide=hidden)
    assert trackers._plain("a b=c,d/e-f.g_h") == "a_b.c/d/e-f.g_h"


def test_settings_that_say_nothing_are_left_out(run: Run) -> None:
    settings = {"limit": 3, "metrics": ["ucerf"], "seed": 0, "by": [], "columns": {}, "system": "", "adapter": None}
    other = SimpleNamespace(manifest=replace(run.manifest, settings=settings, versions={}), parts=[])
    found = parameters_of(other)  # type: ignore[arg-type]
    assert found["equipoise"] == "" and found["datasets"] == ", ".join(run.manifest.datasets)
    assert {name: value for name, value in found.items() if name.startswith("settings")} == {
        "settings.limit": 3,
        "settings.seed": 0,
    }


class Recorded(ModuleType):
    """A module that stands for a tracker's, and keeps what it is asked."""

    def __init__(self, name: str, **names: Any) -> None:
        super().__init__(name)
        vars(self).update(names)


@pytest.fixture
def mlflow_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Put recording modules in the place of MLflow's; the first entry says whether the experiment exists."""
    calls: list[Any] = [False]

    class Refused(Exception):
        pass

    class Client:
        def get_experiment_by_name(self, name: str) -> Any:
            calls.append(("experiment", name))
            return SimpleNamespace(experiment_id="7") if calls[0] else None

        def create_experiment(self, name: str) -> str:
            calls.append(("new", name))
            return "8"

        def create_run(self, identifier: str, *, run_name: str) -> Any:
            if calls[0] == "refused":
                raise Refused("no")
            calls.append(("run", identifier, run_name))
            return SimpleNamespace(info=SimpleNamespace(run_id="r", start_time=42))

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **chosen: calls.append((name, *given, chosen))

    modules = {
        "mlflow": Recorded("mlflow", get_tracking_uri=lambda: "http://m"),
        "mlflow.entities": Recorded("e", Metric=lambda *facts: facts, Param=lambda *facts: facts),
        "mlflow.exceptions": Recorded("x", MlflowException=Refused),
        "mlflow.tracking": Recorded("t", MlflowClient=Client),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return calls


@pytest.mark.parametrize("known", [False, True])
def test_what_mlflow_is_asked(known: bool, run: Run, mlflow_calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow_calls[0] = known
    monkeypatch.setattr(trackers, "BATCH", 3)
    assert trackers.log_run(run, "mlflow") == "http://m (experiment equipoise, run r)"
    metrics = [(name, value, 42, 0) for name, value in metrics_of(run).items()]
    assert len(metrics) == 8
    begun = [
        ("experiment", "equipoise"),
        *([] if known else [("new", "equipoise")]),
        ("run", "78"[not known], run.name),
    ]
    assert mlflow_calls[1:] == [
        *begun,
        ("log_batch", "r", {"params": [(name, str(value)[:500]) for name, value in parameters_of(run).items()]}),
        *(("log_batch", "r", {"metrics": metrics[start : start + 3]}) for start in (0, 3, 6)),
        *(("log_artifact", "r", str(file), {}) for file in files_of(run)),
        ("set_terminated", "r", {}),
    ]


def test_long_parameters_are_cut_and_refusals_are_one_sentence(
    run: Run, mlflow_calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trackers, "parameters_of", lambda run: {"long": "x" * 501, "fits": "y" * 500})
    trackers.log_run(run, "mlflow")
    (parameters,) = [call[-1]["params"] for call in mlflow_calls[1:] if "params" in (call[-1] or {})]
    assert parameters == [("long", "x" * 500), ("fits", "y" * 500)]
    mlflow_calls[0] = "refused"
    with pytest.raises(EquipoiseError, match=r"^MLflow at http://m refused the run: no$"):
        trackers.log_run(run, "mlflow")


@pytest.mark.parametrize("address", ["http://w", ""])
def test_what_wandb_is_asked(address: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Refused(Exception):
        pass

    class Logged:
        id, url, dir = "i", address, "folder"

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            calls.append("ended")

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **chosen: calls.append((name, *given, chosen))

    class Artifact(Logged):
        def __init__(self, name: str, *, type: str) -> None:
            calls.append(("artifact", name, type))

    def begun(**chosen: Any) -> Logged:
        calls.append(chosen)
        return Logged()

    names = {"Settings": lambda **chosen: chosen, "init": begun, "Artifact": Artifact, "Error": Refused}
    monkeypatch.setitem(sys.modules, "wandb", Recorded("wandb", **names))
    assert trackers.log_run(run, "wandb") == (address or "folder")
    logged = calls.pop(-2)
    assert logged[0] == "log_artifact" and isinstance(logged[1], Artifact)
    assert calls == [
        {"project": "equipoise", "name": run.name, "config": parameters_of(run), "settings": {"silent": True}},
        ("log", metrics_of(run), {}),
        ("artifact", "equipoise-i", "audit"),
        *(("add_file", str(file), {}) for file in files_of(run)),
        "ended",
    ]

    def refused(**_: Any) -> Logged:
        raise Refused("no key")

    monkeypatch.setattr(sys.modules["wandb"], "init", refused)
    with pytest.raises(EquipoiseError, match=r"^Weights & Biases refused the run: no key$"):
        trackers.log_run(run, "wandb")


def test_tensorboard_is_told_the_parameters(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            calls.append(folder)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            calls.append("ended")

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **chosen: calls.append((name, *given, chosen))

    monkeypatch.setitem(sys.modules, "tensorboardX", Recorded("tensorboardX", SummaryWriter=Writer))
    assert trackers.log_run(run, "tensorboard") == str(run.path / "tensorboard")
    table = "".join(f"\n| {name} | {value} |" for name, value in parameters_of(run).items())
    assert calls == [
        str(run.path / "tensorboard"),
        ("add_text", "run", f"| | |\n|---|---|{table}", {}),
        *(("add_scalar", name, value, {"global_step": 0}) for name, value in metrics_of(run).items()),
        "ended",
    ]


def test_a_package_that_a_tracker_needs_in_turn_is_no_excuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_there.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(trackers.TRACKERS, "half", trackers.Tracker("half_there", lambda run: "there"))  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        trackers.check_tracker("half")
    (tmp_path / "half_there.py").write_text("")
    sys.modules.pop("half_there", None)
    assert trackers.log_run(None, "half") == "there"  # type: ignore[arg-type]


def test_only_files_that_are_there_are_logged(tmp_path: Path) -> None:
    run: Any = SimpleNamespace(path=tmp_path)
    assert files_of(run) == []
    for name in ("manifest.json", "report.html", "other.txt"):
        (tmp_path / name).write_text("x")
    assert files_of(run) == [tmp_path / "report.html", tmp_path / "manifest.json"]
