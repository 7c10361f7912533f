"""One local Ray, whose workers find the engine `faulty:`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.scoring.cluster.connection import connect, disconnect

FAULTY = Path(__file__).resolve().parents[2] / "faulty"


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    """Start one local Ray for the tests of this file; its workers find the engine `faulty:`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAULTY))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(FAULTY), os.environ.get("PYTHONPATH", "")]))
        connect("auto", cores=4)
        import ray

        yield str(ray.get_runtime_context().gcs_address)
        disconnect()
