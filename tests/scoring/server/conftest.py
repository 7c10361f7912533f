"""Servers on the loopback device, which are closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_loopback import Loopback

from equipoise.scoring.server.http_client import KEYS, Client, Limits


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def serve(own_cache: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Loopback]]:
    servers: list[Loopback] = []
    quick = {"attempts": 4, "first_pause": 0.01, "longest_pause": 0.1}
    monkeypatch.setattr("equipoise.scoring.server.engine.Limits", lambda **given: Limits(**{**quick, **given}))

    def start(*faults: str, **settings: Any) -> Loopback:
        servers.append(Loopback(*faults, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def quick(own_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "_pause", lambda client, attempt: 0.01)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(quick: None) -> Iterator[Loopback]:
    started = Loopback("chat only", "no tokenize")
    yield started
    started.close()
