"""Fixtures of the builder's tests: sentences of our own, and a survey on each kind of database."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_parts import free_port, missing
from survey_raters import new_sqlite

from equipoise.builder.rules.variants import variants_of
from equipoise.builder.steps import Sentence
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.wordlist import HE, SHE
from equipoise.datasets.builtin import sentences as builtin_sentences
from equipoise.datasets.pronouns import pronoun_in_form


@pytest.fixture(scope="session")
def some_sentences() -> Callable[[int], list[Sentence]]:
    """Return a function that gives N of the built-in sentences as the filter would write them."""

    def make(count: int) -> list[Sentence]:
        made = []
        for builtin in builtin_sentences():
            pronoun = pronoun_in_form(builtin.form, "male")
            text = builtin.with_pronoun(pronoun)
            _, twins = variants_of(text, builtin.first, (HE, SHE))
            people = (builtin.first, builtin.second, builtin.referent or builtin.first)
            written = (builtin.type, text, pronoun, builtin.form, *people, "male", tuple(twins))
            made.append(Sentence(f"s-{builtin.id}", *written))
        # Both types: the file has one after the other.
        return made[:: max(1, len(made) // count)][:count]

    return make


def _postgres_program(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(places[0]) if places else shutil.which(name)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Return a function that gives the address of a new database of a real PostgreSQL: empty, or a copy of another."""
    initdb, server = _postgres_program("initdb"), _postgres_program("postgres")
    if initdb is None or server is None:
        missing("needs PostgreSQL: apt-get install postgresql")
    folder = tmp_path_factory.mktemp("postgres")
    # PostgreSQL refuses to run as root, so root hands the folder to the package's user.
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if user:
        for parent in (folder, *folder.parents):
            if parent == Path("/tmp"):
                break
            os.chmod(parent, 0o755)
        shutil.chown(folder, "postgres", "postgres")
    data, port = folder / "data", free_port()
    subprocess.run([*user, initdb, "-D", data, "-A", "trust", "-U", "survey"], check=True, capture_output=True, cwd="/")
    options = [
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        f"unix_socket_directories={folder}",
        "-c",
        "max_connections=120",
    ]
    log = (folder / "log").open("wb")
    process = subprocess.Popen([*user, server, "-D", data, "-p", str(port), *options], stderr=log, cwd="/")
    import psycopg

    base = f"postgresql://survey@127.0.0.1:{port}"
    made = 0

    def database(original: str = "template1") -> str:
        nonlocal made
        made += 1
        with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE survey{made} TEMPLATE {original.rpartition('/')[2]}")
        return f"{base}/survey{made}"

    try:
        for _ in range(600):
            try:
                psycopg.connect(f"{base}/postgres", connect_timeout=2).close()
                break
            except psycopg.OperationalError:
                if process.poll() is not None:
                    pytest.fail((folder / "log").read_text())
                time.sleep(0.1)
        yield database
    finally:
        # SIGINT: PostgreSQL's fast shutdown, which does not wait for clients.
        process.send_signal(signal.SIGINT)
        # On a busy machine the last checkpoint takes its time.
        process.wait(timeout=120)
        log.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables: of SQLite, and of PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'survey.sqlite'}"
    return str(request.getfixturevalue("postgres")())


@pytest.fixture(scope="session")
def postgres_tables(postgres: Callable[..., str]) -> str:
    """Return the address of a PostgreSQL database with all tables, to copy."""
    url = postgres()
    SurveyDatabase(url).close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty survey, whose tables were made once: of SQLite, and of PostgreSQL."""
    if request.param == "sqlite":
        return new_sqlite(tmp_path / "survey.sqlite")
    return str(request.getfixturevalue("postgres")(request.getfixturevalue("postgres_tables")))
