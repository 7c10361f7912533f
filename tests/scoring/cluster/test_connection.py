"""One process is connected to one cluster."""

from __future__ import annotations

import pytest

from equipoise.records import ModelError
from equipoise.scoring.cluster.connection import connect


@pytest.mark.slow
@pytest.mark.usefixtures("ray_address")
def test_another_cluster_than_the_one_in_use_is_refused() -> None:
    with pytest.raises(ModelError, match=r"connected to the Ray cluster at .*, not to 127\.0\.0\.1:1; leave it first"):
        connect("127.0.0.1:1", cores=1)
