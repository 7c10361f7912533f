"""Attacks on the viewer, over real sockets and in a browser: strangers, other sites, names, paths, links, scripts."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from equipoise.report import write_run_page
from equipoise.run import audit
from equipoise.runs.folder import RunFolder
from equipoise.scoring.planted import PlantedEngine
from equipoise.view.index import slug_of

TOKEN = "a-token-of-at-least-128-bits"
SECRET = "the secret outside of the folder"
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def raw(address: str, request: str) -> tuple[int, str]:
    """Send a request as it is, which no client library would; return the status and the whole answer."""
    host, port = address.removeprefix("http://").split("/")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=20) as door:
        answer = b""
        with suppress(ConnectionError):  # a viewer that hangs up has refused, too
            door.sendall(request.replace("\n", "\r\n").encode())
            while piece := door.recv(65536):
                answer += piece
    return int(answer.split(b" ", 2)[1]) if answer else 0, answer.decode("utf-8", "replace")


def get(path: str, host: str = "127.0.0.1", method: str = "GET", **headers: str) -> str:
    named = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\nHost: {host}\nConnection: close\n{named}\n"


T = f"/{TOKEN}"
FOREIGN = {"sec_fetch_site": "cross-site"}
REQUESTS = {
    # Without the token, or with a wrong one.
    "no token": get("/"),
    "no token, a page": get("/index.html"),
    "no token, data": get("/rows.json"),
    "a wrong token": get(f"/{'x' * len(TOKEN)}/"),
    "a shorter token": get(f"/{TOKEN[:-1]}/"),
    "a longer token": get(f"/{TOKEN}x/"),
    "the token in the query": get(f"/?token={TOKEN}"),
    "the token as a cookie": get("/index.html", cookie=f"token={TOKEN}"),
    "the token as a header": get("/index.html", authorization=f"Bearer {TOKEN}"),
    "the token further back": get(f"/x/../{TOKEN}/"),
    "two slashes": get(f"//{TOKEN}/"),
    # Another name for this machine: rebinding.
    "a foreign name": get(f"{T}/", host="evil.test"),
    "a name that begins like ours": get(f"{T}/", host="localhost.evil.test"),
    "a name that begins like our number": get(f"{T}/", host="127.0.0.1.evil.test"),
    "no name": f"GET {T}/ HTTP/1.1\nConnection: close\n\n",
    "two names": f"GET {T}/ HTTP/1.1\nHost: 127.0.0.1\nHost: evil.test\nConnection: close\n\n",
    "a whole address": get(f"http://evil.test{T}/", host="evil.test"),
    # Another site, which somebody who has the viewer open visits.
    "a script of another site": get(f"{T}/rows.json", **FOREIGN, sec_fetch_mode="no-cors", sec_fetch_dest="script"),
    "an image of another site": get(f"{T}/", **FOREIGN, sec_fetch_mode="no-cors", sec_fetch_dest="image"),
    "a frame of another site": get(f"{T}/", **FOREIGN, sec_fetch_mode="navigate", sec_fetch_dest="iframe"),
    "a request of another site": get(f"{T}/rows.json", **FOREIGN, sec_fetch_mode="cors", sec_fetch_dest="empty"),
    "another origin": get(f"{T}/rows.json", origin="http://evil.test"),
    "another port": get(f"{T}/rows.json", origin="http://127.0.0.1:1"),
    "no origin": get(f"{T}/rows.json", origin="null"),
    "another port's page": get(f"{T}/", sec_fetch_site="same-site", sec_fetch_mode="cors"),
    "a question of another site": get(f"{T}/ask.json", method="POST", origin="http://evil.test"),
    "leave to ask": get(f"{T}/rows.json", method="OPTIONS", origin="http://evil.test"),
    # Ways out of the folder.
    "up": get(f"{T}/../../secret.txt"),
    "up, coded": get(f"{T}/%2e%2e/%2e%2e/secret.txt"),
    "up, coded twice": get(f"{T}/%252e%252e/secret.txt"),
    "up in a run's name": get(f"{T}/run-../../secret.txt.html"),
    "up in a run's name, coded": get(f"{T}/run-..%2f..%2fsecret.txt.html"),
    "a path as a run": get(f"{T}/run-%2fetc%2fpasswd.html"),
    "a file of a run": get(f"{T}/suite/alpha/manifest.json"),
    "a path to compare": get(f"{T}/compare.html?run=../secret.txt&run=/etc/passwd"),
    "a nothing in a name": get(f"{T}/run-%00.html"),
    "a linked run": get(f"{T}/run-LINKED.html"),
    # Too much, or not what is asked for.
    "a long address": get(f"{T}/" + "a" * 20_000),
    "a large question": f"POST {T}/ask.json HTTP/1.1\nHost: 127.0.0.1\nConnection: close\nContent-Length: 900000\n\n"
    + "x" * 900_000,
    "writing": get(f"{T}/index.html", method="PUT"),
    "removing": get(f"{T}/run-x.html", method="DELETE"),
    "tracing": get(f"{T}/", method="TRACE"),
    "a socket of another site": get(f"{T}/", upgrade="websocket", sec_websocket_key="x", origin="http://evil.test"),
}


def test_there_are_forty_attacks() -> None:
    assert len(REQUESTS) >= 40


def test_every_attack_is_refused_and_tells_nothing(served: Callable[..., str], some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(some_runs / "suite" / "alpha", folder / "suite" / "alpha")
    (tmp_path / "secret.txt").write_text(SECRET)
    outside = tmp_path / "outside"
    shutil.copytree(some_runs / "suite" / "beta", outside)
    (folder / "linked").symlink_to(outside, target_is_directory=True)
    address = served(folder)
    assert raw(address, get(f"{T}/"))[0] == 200, "what is allowed is shown"
    linked = slug_of(folder / "linked", folder)
    passed = []
    for name, request in REQUESTS.items():
        status, answer = raw(address, request.replace("LINKED", linked))
        told = [
            word
            for word in (SECRET, "root:x:", str(tmp_path), "alpha", "access-control-allow")
            if word in answer.lower()
        ]
        if not (status == 0 or 400 <= status < 500) or told:
            passed.append((name, status, told))
    assert passed == []
    assert raw(address, get(f"{T}/"))[0] == 200, "it still goes"


def test_links_within_a_run_are_not_followed(served: Callable[..., str], some_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(some_runs / "suite" / "alpha", folder / "one")
    (tmp_path / "secret.txt").write_text(SECRET)
    page = folder / "one" / "report.html"
    page.unlink()
    page.symlink_to(tmp_path / "secret.txt")
    address = served(folder)
    for _ in range(50):
        _, answer = raw(address, get(f"{T}/run-{slug_of(folder / 'one', folder)}.html"))
        if 'http-equiv="refresh"' not in answer:
            break
        time.sleep(0.2)
    assert SECRET not in answer
    os.mkfifo(folder / "one" / ".progress.json")
    assert raw(address, get(f"{T}/"))[0] == 200, "a pipe is not waited for"


@pytest.mark.slow
def test_a_script_in_every_field_never_runs(
    served: Callable[..., str], visit: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [
        {
            "text": f"The nurse told the farmer that {pronoun} was {number} {SCRIPT} late.",
            "pronoun": pronoun,
            "pair": f"<script>taken()</script>{number}",
            "candidate_1": "nurse <script>taken()</script>",  # a candidate may not have an equals sign
            "candidate_2": "farmer",
            "gold": "1",
        }
        for number in range(40)
        for pronoun in ("he", "she")
    ]
    engine = PlantedEngine(strength=1.0, bias=0.5)
    object.__setattr__(engine, "name", f"model {SCRIPT}")
    folder = tmp_path / "runs"
    for name in ("one", "two"):
        run = audit(engine, rows, out=folder / f"<b>{name} onload=", resamples=20)
        write_run_page(run)
    RunFolder(folder / "<b>two onload=").add({"report.html": f"<body>{SCRIPT}</body>".encode()})
    address = served(folder)
    slugs = [slug_of(folder / f"<b>{name} onload=", folder) for name in ("one", "two")]
    pages = ["index.html", *(f"run-{slug}.html" for slug in slugs), f"compare.html?run={slugs[0]}&run={slugs[1]}"]
    for page in pages:
        tab = visit(f"{address}{page}")
        tab.wait_for_function("() => document.title !== 'One moment · Equipoise'", timeout=60_000)
        tab.wait_for_timeout(500)
        assert tab.title() != "taken" and tab.locator("img").count() == 0, page
