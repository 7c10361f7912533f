"""The connection to SQLite or PostgreSQL: migrations, transactions that write, and reads that never wait."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import resources
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import event, exc

from ....files import sha256
from ...steps import BuildError

T = TypeVar("T")
CONNECTIONS = 45
"""Connections kept open: opening one takes longer than any question. More than the threads that serve pages."""

MOST_JOBS = 64
"""Jobs that share one transaction at most."""

ATTEMPTS = 6
CONFLICTS = ("40001", "40P01")
"""PostgreSQL's words for a transaction that others got in the way of: serialisation failure, deadlock."""


class Unavailable(BuildError):
    """Raised when the database does not answer now; the same call may work in a moment."""


def hashed(secret: str) -> str:
    """Return the SHA-256 of a secret, which is all that is stored of it."""
    return sha256(secret)


class _Job(Generic[T]):
    """A piece of work in a transaction, and what became of it."""

    def __init__(self, work: Callable[[sa.Connection], T]) -> None:
        self._work = work
        self.done = False
        self.error: BaseException | None = None
        self._result: T | None = None

    def run(self, connection: sa.Connection, *, alone: bool) -> None:
        """Do the work; if it fails, only this work is undone."""
        if alone:
            self._result = self._work(connection)
            return
        try:
            with connection.begin_nested():
                self._result = self._work(connection)
        except Exception as error:
            self.error = error

    def result(self) -> T:
        """Return the result of the work, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value]


class Store:
    """Transactions on the survey's database; safe to use from many threads and processes."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        try:
            _make_private(url)
            self._engine = _engine(url, writes=True, pool_size=CONNECTIONS)
            self.is_sqlite = self._engine.dialect.name == "sqlite"
            # SQLite has one writer at a time; a fair queue here is faster than polling for its lock.
            self._turn = threading.Lock() if self.is_sqlite else nullcontext()
            self._queue: list[_Job[Any]] = []
            self._queue_lock = threading.Lock()
            # Readers of SQLite's log do not wait for the writer.
            self._reader = (
                _engine(url, writes=False, pool_size=CONNECTIONS)
                if self.is_sqlite
                else self._engine.execution_options(isolation_level="AUTOCOMMIT")
            )
            self._migrate(url)
        except (exc.ArgumentError, exc.NoSuchModuleError, ImportError):
            raise BuildError("a database is named sqlite:///FILE or postgresql://USER@HOST/NAME") from None
        except exc.DBAPIError as error:
            raise BuildError(f"the survey's database cannot be opened ({reason(error)})") from None

    def _migrate(self, url: str) -> None:
        engine = self._engine
        if self.is_sqlite:
            # SQLite changes a table by making it again, which foreign keys would forbid.
            engine = _engine(url, writes=True, poolclass=sa.NullPool)
            event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys=OFF"))
        config = Config()
        folder = str(resources.files(__package__).joinpath("migrations"))
        config.set_main_option("script_location", folder.replace("%", "%%"))  # a % would be the name of an option
        with self._turn, engine.begin() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError:
                newest = ScriptDirectory.from_config(config).get_current_head()
                raise BuildError(
                    f"the survey's database was written by a newer Equipoise; this one knows version {newest}"
                ) from None

    def write(self, job: Callable[[sa.Connection], T]) -> T:
        """Return what the job returns, once it is on disk.

        On SQLite, jobs that wait at the same time share one transaction: flushing to the disk takes longer than all
        of them together. PostgreSQL does the same by itself; what others got in the way of is done again.
        """
        if not self.is_sqlite:
            with self._guarded():
                return self._write_until_done(job)
        waiting: _Job[T] = _Job(job)
        with self._guarded():
            with self._queue_lock:
                self._queue.append(waiting)
            with self._turn:
                # Whoever comes first works for all who wait; they find their result when it is their turn.
                if not waiting.done:
                    self._write_batch()
            return waiting.result()

    def _write_until_done(self, job: Callable[[sa.Connection], T]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with self._engine.begin() as connection:
                    return job(connection)
            except exc.OperationalError as error:
                if getattr(error.orig, "sqlstate", None) not in CONFLICTS or attempt == ATTEMPTS:
                    raise
                # At random: two that met once must not meet again.
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        raise AssertionError("the last attempt returns or raises")

    def _write_batch(self) -> None:
        with self._queue_lock:
            batch, self._queue[:MOST_JOBS] = self._queue[:MOST_JOBS], []
        try:
            with self._engine.begin() as connection:
                for job in batch:
                    job.run(connection, alone=len(batch) == 1)
        except BaseException as error:
            for job in batch:
                job.error = job.error or error
        finally:
            for job in batch:
                job.done = True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection for single reads, which wait for no writer."""
        with self._guarded(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Give a connection whose reads all see one moment."""
        with self._guarded():
            if self.is_sqlite:
                with self._reader.connect() as connection:
                    connection.exec_driver_sql("BEGIN")
                    try:
                        yield connection
                    finally:
                        connection.exec_driver_sql("ROLLBACK")
            else:
                repeatable = self._engine.execution_options(isolation_level="REPEATABLE READ")
                with repeatable.connect() as connection:
                    yield connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError) as error:
            raise Unavailable(f"the survey's database does not answer ({reason(error)})") from None
        except exc.DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise Unavailable(f"the survey's database does not answer ({reason(error)})") from None

    def raw_rows(self, query: sa.Select[Any]) -> list[Any]:
        """Return all rows of a large query as plain tuples."""
        with self.reading() as connection:
            cursor = connection.execute(query).cursor
            return list(cursor.fetchall()) if cursor is not None else []

    def is_alive(self) -> bool:
        """Return whether the database answers."""
        try:
            with self.reading() as connection:
                return bool(connection.scalar(sa.select(1)))
        except Unavailable:
            return False

    @property
    def sqlite_path(self) -> str | None:
        """The file of an SQLite database, None for others."""
        return self._engine.url.database if self.is_sqlite else None

    def close(self) -> None:
        """Close all connections."""
        self._reader.dispose()
        self._engine.dispose()


def reason(error: exc.SQLAlchemyError) -> str:
    """Return the first line of the driver's own message."""
    original = getattr(error, "orig", None) or error
    return (str(original).strip() or type(original).__name__).splitlines()[0]


def with_driver(url: str) -> str:
    """Return the address with the driver we use for PostgreSQL."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _make_private(url: str) -> None:
    """Make an SQLite file that nobody but its owner can read, before SQLite opens it; its log files follow it."""
    path = sa.make_url(with_driver(url))
    if path.get_backend_name() != "sqlite" or not path.database or path.database == ":memory:":
        return
    try:
        os.close(os.open(path.database, os.O_CREAT | os.O_RDWR, 0o600))
        for name in (path.database, f"{path.database}-wal", f"{path.database}-shm"):
            if os.path.exists(name) and os.stat(name).st_uid == os.geteuid():
                os.chmod(name, 0o600)
    except OSError as error:
        raise BuildError(f"the survey's database cannot be opened ({error.strerror}: {path.database})") from None


def _engine(url: str, *, writes: bool, **options: Any) -> sa.Engine:
    """Return an engine; on SQLite, one that `writes` takes the lock when a transaction begins."""
    engine = sa.create_engine(with_driver(url), **options)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        if writes:
            event.listen(engine, "begin", _begin_immediate)
    return engine


def _configure_sqlite(connection: Any, record: Any) -> None:
    # The driver starts transactions too late for "BEGIN IMMEDIATE", so we start them ourselves.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
