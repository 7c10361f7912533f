"""The connection to SQLite and PostgreSQL: shared transactions, migrations, and what cannot be opened."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from survey_raters import YES, answer_all, rater, vote

from equipoise.builder.steps import BuildError
from equipoise.builder.survey.database import connection
from equipoise.builder.survey.database.connection import with_driver
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
