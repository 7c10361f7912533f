"""The connection to SQLite and PostgreSQL: shared transactions, migrations, and what cannot be opened."""

from __future__ import annotations

import hashlib
import shutil
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event, exc
from survey_raters import YES, answer_all, new_sqlite, rater, vote

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database import connection
from equipoise.builder.survey.database.connection import Store, Unavailable, _Job, hashed, reason, with_driver
from equipoise.builder.survey.database.survey import SurveyDatabase
from equipoise.builder.survey.database.tables import SETTINGS


def test_jobs_that_share_a_transaction_fail_alone(database_url: str) -> None:
    database = SurveyDatabase(database_url)

    def write(number: int) -> int:
        def job(connection: sa.Connection) -> int:
            connection.execute(SETTINGS.insert().values(name=f"n{number}", value="x"))
            if number % 5 == 0:
                raise ValueError("this one only")
            return number

        return database.store.write(job)

    def attempt(number: int) -> int | None:
        try:
            return write(number)
        except ValueError:
            return None

    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(attempt, range(40)))
    expected = [None if number % 5 == 0 else number for number in range(40)]
    assert results == expected
    stored = {number for number in range(40) if database.setting(f"n{number}")}
    assert stored == {number for number in expected if number is not None}
    database.close()


def older_database(url: str, version: str) -> sa.Engine:
    """Make the tables as an earlier Equipoise made them."""
    engine = sa.create_engine(with_driver(url))
    config = Config()
    folder = str(resources.files("equipoise.builder.survey.database").joinpath("migrations"))
    config.set_main_option("script_location", folder.replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    return engine


@pytest.mark.parametrize("version", ["0001", "0002"])
def test_an_older_database_is_brought_up_to_date(bare_url: str, version: str) -> None:
    engine = older_database(bare_url, version)
    with engine.begin() as old:
        old.execute(
            sa.text("INSERT INTO sentences VALUES ('s', 's', 'A text.', 'he', 'cook', 'nurse', 0.5, 2, 1, false)")
        )
        for number, name in enumerate(("a", "b", "gone")):
            state = "withdrawn" if name == "gone" else "passed"
            old.execute(sa.text(f"INSERT INTO raters VALUES ('{name}', '{name}', '{name}', '{state}', 0.9, '')"))
            values = f"'s', '{name}', {number}, {name == 'a'}, {name == 'a' or 'NULL'}, {name == 'a' or 'NULL'}"
            old.execute(sa.text(f"INSERT INTO answers VALUES ({values}, 5.0, {name == 'gone'})"))
    engine.dispose()
    database = SurveyDatabase(bare_url)
    assert [answer.vote for answer in database.results.answers()][:2] == [YES, vote(False, None, None)]
    assert {answer.origin for answer in database.results.answers()} == {"person"}
    assert database.tidy() == 1  # the counts of the older version are made anew
    found = database.raters.in_session("")
    assert found is None and answer_all(database, rater(database)) == 1
    database.store.write(lambda new: new.execute(sa.text("UPDATE alembic_version SET version_num = '9999'")) and None)
    database.close()
    with pytest.raises(BuildError, match="newer Equipoise"):
        SurveyDatabase(bare_url)


def test_the_package_may_lie_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "100% of Ünal's"
    shutil.copytree(str(resources.files(connection.__package__).joinpath("migrations")), there / "migrations")
    monkeypatch.setattr(connection.resources, "files", lambda _: there)
    database = SurveyDatabase(f"sqlite:///{tmp_path / 'survey.db'}")
    assert database.setting("none") is None
    database.close()


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "nonsense", "postgresql://nobody@127.0.0.1:9/x", "sqlite:////no/such/x"]
)
def test_a_database_that_cannot_be_opened(url: str) -> None:
    with pytest.raises(BuildError, match="database"):
        SurveyDatabase(url)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(new_sqlite(tmp_path / "survey.sqlite"))
    yield made
    made.close()


def values(store: Store) -> list[str]:
    with store.reading() as reading:
        return sorted(reading.scalars(sa.select(SETTINGS.c.value)))


def added(value: str) -> Callable[[sa.Connection], str]:
    def job(connection: sa.Connection) -> str:
        connection.execute(SETTINGS.insert().values(name=value, value=value))
        return f"{value}!"

    return job


def test_a_job_gives_back_what_it_returns_or_raises_and_is_undone(store: Store) -> None:
    assert store.write(added("a")) == "a!" and values(store) == ["a"]

    def failing(connection: sa.Connection) -> None:
        added("b")(connection)
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        store.write(failing)
    assert values(store) == ["a"] and store.raw_rows(sa.select(SETTINGS.c.name)) == [("a",)]
    assert store.sqlite_path == store._engine.url.database and store.is_sqlite and store.is_alive()


def test_jobs_that_wait_share_a_transaction_of_at_most_64(store: Store) -> None:
    assert connection.MOST_JOBS == 64
    jobs = [_Job(added(f"{number:03}")) for number in range(70)]
    bad = _Job(lambda reading: 1 / 0)
    store._queue += [jobs[0], bad, *jobs[1:]]
    begun = []
    event.listen(store._engine, "begin", lambda connection: begun.append(1))
    store._write_batch()
    assert [job.done for job in jobs] == [True] * 63 + [False] * 7 and len(begun) == 1
    assert jobs[3].result() == "003!" and len(values(store)) == 63 and len(store._queue) == 7
    with pytest.raises(ZeroDivisionError):
        bad.result()
    assert store.write(added("last")) == "last!" and len(values(store)) == 71 and not store._queue


def test_a_database_that_is_gone_is_unavailable_and_may_come_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise exc.OperationalError("SELECT", {}, Exception("disk I/O error\nmore"))

    with monkeypatch.context() as patch:
        patch.setattr(store._reader, "connect", broken)
        assert not store.is_alive()
        with (
            pytest.raises(Unavailable, match=r"^the survey's database does not answer \(disk I/O error\)$"),
            store.reading(),
        ):
            pass
    assert store.is_alive()
    lost = exc.DBAPIError("SELECT", {}, Exception("x"), connection_invalidated=True)
    kept = exc.DBAPIError("SELECT", {}, Exception("x"))
    with pytest.raises(Unavailable), store._guarded():
        raise lost
    with pytest.raises(exc.DBAPIError), store._guarded():
        raise kept
    for error in (exc.InterfaceError("s", {}, Exception("")), exc.TimeoutError("t")):
        with pytest.raises(Unavailable), store._guarded():
            raise error


def test_a_snapshot_sees_one_moment(store: Store) -> None:
    store.write(added("a"))
    with store.snapshot() as snapshot:
        assert snapshot.scalars(sa.select(SETTINGS.c.value)).all() == ["a"]
        store.write(added("b"))
        assert snapshot.scalars(sa.select(SETTINGS.c.value)).all() == ["a"]
    assert values(store) == ["a", "b"]


def test_a_conflict_is_tried_six_times(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(connection.time, "sleep", waited.append)
    monkeypatch.setattr(connection.random, "uniform", lambda low, high: high)
    tried: list[str] = []

    def conflict(state: str) -> Callable[[sa.Connection], str]:
        def job(reading: sa.Connection) -> str:
            tried.append(state)
            if len(tried) == 4:
                return "done"
            original = Exception("x")
            original.sqlstate = state  # type: ignore[attr-defined]
            raise exc.OperationalError("s", {}, original)

        return job

    assert store._write_until_done(conflict("40P01")) == "done" and waited == pytest.approx([0.02, 0.04, 0.08])
    tried += ["x"] * 5
    with pytest.raises(exc.OperationalError):
        store._write_until_done(conflict("40001"))
    assert len(tried) == 4 + 5 + 6 and len(waited) == 3 + 5
    with pytest.raises(exc.OperationalError):
        store._write_until_done(conflict("57014"))
    assert len(tried) == 16


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://a@b/c", "postgresql+psycopg://a@b/c"),
        ("postgres://a@b/postgres://", "postgresql+psycopg://a@b/postgres://"),
        ("sqlite:///x", "sqlite:///x"),
        ("postgresql+psycopg://a", "postgresql+psycopg://a"),
    ],
)
def test_the_driver_of_postgresql_is_ours(url: str, expected: str) -> None:
    assert with_driver(url) == expected


def test_the_reason_is_the_first_line_of_the_drivers_message() -> None:
    assert reason(exc.OperationalError("s", {}, Exception(" a\nb"))) == "a"
    assert (
        reason(exc.OperationalError("s", {}, ValueError(""))) == "ValueError"
        and reason(exc.TimeoutError("c\nd")) == "c"
    )
    assert hashed("x") == hashlib.sha256(b"x").hexdigest()


def test_a_file_of_sqlite_is_its_owners_alone_and_safe(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    for name in ("s.sqlite", "s.sqlite-wal", "s.sqlite-shm"):
        (tmp_path / name).write_bytes(b"")
        (tmp_path / name).chmod(0o644)
    made = Store(f"sqlite:///{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with made._engine.connect() as writing, made.reading() as reading:
        for one in (writing, reading):
            told = [
                one.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
            ]
            assert told == ["wal", 2, 30000, 1]
    made.close()
    with pytest.raises(
        BuildError, match=r"^the survey's database cannot be opened \(No such file or directory: .*none/s\.sqlite\)$"
    ):
        Store(f"sqlite:///{tmp_path / 'none' / 's.sqlite'}")
    (tmp_path / "text").write_text("no database " * 100)
    with pytest.raises(BuildError, match=r"^the survey's database cannot be opened \(file is not a database\)$"):
        Store(f"sqlite:///{tmp_path / 'text'}")
    with pytest.raises(BuildError, match=r"^a database is named sqlite:///FILE or postgresql://USER@HOST/NAME$"):
        Store("nothing")


def test_a_snapshot_of_another_database_is_a_transaction_that_reads_again_what_it_read(store: Store) -> None:
    asked: list[dict[str, str]] = []
    engine = store._engine

    class Other:
        def execution_options(self, **options: str) -> sa.Engine:
            asked.append(options)
            return engine

    store.is_sqlite, store._engine = False, Other()  # type: ignore[assignment]
    with store.snapshot() as snapshot:
        assert snapshot.scalar(sa.select(1)) == 1
    store.is_sqlite, store._engine = True, engine
    assert asked == [{"isolation_level": "REPEATABLE READ"}]
