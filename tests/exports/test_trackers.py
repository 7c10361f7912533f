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
from pathlib import Path

import pytest

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
