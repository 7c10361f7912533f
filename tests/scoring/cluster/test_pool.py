"""A Ray cluster of two nodes: one is lost in the middle of a run, and nothing is lost with it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from equipoise.run import audit

FAULTY = Path(__file__).resolve().parents[2] / "faulty"
FEW: dict[str, Any] = {"limit": 20, "resamples": 10, "metrics": ["ucerf"], "by": []}


@pytest.mark.slow
def test_a_lost_node_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each node has room for one worker. The second is killed with a batch in hand; the first finishes alone."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.syspath_prepend(str(FAULTY))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAULTY), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    for name in ("begun", "lost"):
        os.mkfifo(tmp_path / name)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1, env_vars={"FAULTY_NODE": "lost"})
    deaths: list[bytes] = []

    def lose_the_node() -> None:
        deaths.append((tmp_path / "begun").read_bytes())  # waits until its worker has begun
        cluster.remove_node(second, allow_graceful=False)
        (tmp_path / "lost").write_bytes(b".")  # waits until the other worker has begun

    try:
        cluster.wait_for_nodes()
        thread = threading.Thread(target=lose_the_node, daemon=True)
        thread.start()
        model = f"faulty:size=4,pipes={tmp_path}"
        run = audit(model, cluster=cluster.address, workers=2, out=tmp_path / "run", **FEW)
        thread.join(timeout=600)
        assert deaths == [b"."] and not thread.is_alive()
        written = capfd.readouterr()
        assert "raylet" not in (written.out + written.err).lower()  # Ray's daemons report to our log instead
    finally:
        cluster.shutdown()
    whole = audit("faulty:size=4", out=tmp_path / "whole", **FEW)
    for name in ("scores.jsonl", "measurements.csv", "outcomes.parquet", "pairs.parquet"):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes()
