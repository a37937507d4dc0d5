"""The place of an index, access to it, and the error if it cannot be opened."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.history.database import IndexDatabase, RowError, parse_url, shown_url
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError
from tests.build.postgres import execute
from tests.build.root_rights import without_root_rights
from tests.runs.history.builders import change, indexed_runs, rows, some_runs, sync

UNREADABLE = "a URL that cannot be read"


def opened(url: str, *, write: bool = True) -> str:
    with IndexDatabase(url, rootdir=Path.cwd(), write=write) as database:
        pass
    assert database._connection.closed
    return database.shown


def test_a_path_begins_at_the_root_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    for url in ("a/one.sqlite", "sqlite:///a/two.sqlite"):
        with IndexDatabase(url, rootdir=project, write=True):
            pass
    assert sorted(path.name for path in (project / "a").glob("*.sqlite")) == [
        "one.sqlite",
        "two.sqlite",
    ]


def test_a_new_folder_keeps_the_index_out_of_git(project: Path) -> None:
    opened("evals/cache/history.sqlite")
    assert "*" in (project / "evals/cache/.gitignore").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("url", "got"),
    [
        ("mysql://ann:sesame@host/db", "a URL of 'mysql'"),
        ("postgresql+nothing://ann:sesame@host/db", "a URL of 'postgresql+nothing'"),
        ("postgresql://ann:sesame@host:port/db", UNREADABLE),
        ("postgresql:/ann:sesame@host/db", UNREADABLE),
        ("postgresql+psycopg:ann:sesame@host/db", UNREADABLE),
        ("ann:sesame@host/db", UNREADABLE),
        (":sesame@host/db", UNREADABLE),
        ("//ann:sesame@host/db", UNREADABLE),
        ("postgres//ann:sesame@host/db", UNREADABLE),
        ("mysql:/ann:sesame/@host/db", UNREADABLE),
        ("ann:ses@me@host:5432/db", UNREADABLE),
        ("sqlite://", "a database in memory"),
        ("sqlite:///:memory:", "a database in memory"),
    ],
)
def test_what_is_no_place_for_an_index_is_refused_without_its_password(
    url: str, got: str, project: Path
) -> None:
    with pytest.raises(ConfigError, match=r"^index of runs: .*, expected a path") as caught:
        opened(url)
    assert "sesame" not in str(caught.value)
    assert [fault.facts["found"] for fault in caught.value.faults] == [got]
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "driver", "shown"),
    [
        ("a/b.sqlite", "sqlite", "a/b.sqlite"),
        ("c:\\ann@home\\b.sqlite", "sqlite", "c:\\ann@home\\b.sqlite"),
        ("sqlite+pysqlite:////a/b.sqlite", "sqlite", "/a/b.sqlite"),
        ("postgresql://ann:sesame@h:1/db?x=y", "postgresql+psycopg", "postgresql+psycopg://h:1/db"),
    ],
)
def test_a_place_is_a_path_or_a_url_and_shown_without_credentials(
    text: str, driver: str, shown: str
) -> None:
    if driver != "sqlite":
        pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = parse_url(text)
    assert (url.drivername, shown_url(url)) == (driver, shown)


def test_a_server_is_waited_for_as_its_url_says_or_else_for_five_seconds(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    seen = []

    def create_engine(url: object, *, connect_args: dict[str, object], **_: object) -> None:
        seen.append(connect_args)
        raise ConfigError("seen")

    monkeypatch.setattr("sqlalchemy.create_engine", create_engine)
    for query in ("", "?connect_timeout=60"):
        with pytest.raises(ConfigError, match="seen"):
            opened(f"postgresql://h/db{query}")
    own = {"tcp_user_timeout": 10_000, "prepare_threshold": None}
    assert seen == [{"connect_timeout": 5, **own}, own]


def test_only_a_writer_makes_the_file_of_an_index_and_its_folder(project: Path) -> None:
    (project / "file").write_text("", encoding="utf-8")
    for url, write, code in (
        ("a/b.sqlite", False, "no_index"),
        ("file/b.sqlite", True, "no_folder"),
    ):
        with pytest.raises(StorageError) as caught:
            opened(url, write=write)
        assert caught.value.faults[0].code == code
    assert not (project / "a").exists()
    assert opened("a/b.sqlite") == str(project / "a" / "b.sqlite")


def test_an_error_shows_no_password_of_the_query_and_one_of_an_encoding_stays_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with IndexDatabase("index.sqlite", rootdir=project, write=True) as database:
        with pytest.raises(UnicodeEncodeError), database.transaction():
            "\ud800".encode()
        monkeypatch.setattr(database, "_url", make_url("a://h/db?sslpassword=sesame&user=ann"))
        with pytest.raises(StorageError) as caught, database.transaction():
            raise SQLAlchemyError("sesame of ann")
    assert caught.value.faults[0].facts["reason"] == "*** of ann"


def test_a_table_of_others_is_left_alone(project: Path) -> None:
    change("other.sqlite", "CREATE TABLE metrics (a INTEGER)")
    for write, code in ((True, "other_table"), (False, "no_index")):
        with pytest.raises(StorageError) as caught:
            opened("other.sqlite", write=write)
        assert caught.value.faults[0].code == code
    assert rows("other.sqlite", "sqlite_master", "name") == [("metrics",)]


def test_a_row_that_cannot_be_kept_is_an_error_of_its_own_and_all_failures_are_undone(
    project: Path,
) -> None:
    with IndexDatabase("index.sqlite", rootdir=project, write=True) as database:

        def run(*statements: str) -> None:
            with database.transaction() as connection:
                for statement in statements:
                    connection.exec_driver_sql(statement)

        for statement, row in (
            ("INSERT INTO rageval_history VALUES (1, 6)", True),
            ("SELECT a FROM nowhere", False),
        ):
            with pytest.raises(StorageError) as caught:
                run("INSERT INTO rageval_history VALUES (2, 6)", statement)
            assert isinstance(caught.value, RowError) is row
        with pytest.raises(StorageError, match="damaged"), database.transaction():
            raise ValueError("damaged")
    assert rows("index.sqlite", "rageval_history") == [(1, 6)]


def test_postgresql_without_its_driver_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert cli.run(["runs", "sync", "--db", "postgresql://ann:sesame@host/db"]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "pip install 'pytest-rageval[postgres]'" in err
    assert "sesame" not in err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:sesame@127.0.0.1:1/db",
        "postgresql+psycopg:///db?host=/nowhere&user=ann&password=sesame",
        "postgresql://ann:sesame@127.0.0.1:1/db?application_name=sesame",
    ],
)
def test_a_server_that_is_down_is_named_without_the_password(url: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(StorageError) as caught:
        opened(url)
    assert str(caught.value).startswith("postgresql+psycopg://")
    assert "sesame" not in repr(caught.value)


def test_a_file_that_is_no_database_is_named(project: Path) -> None:
    (project / "odd.sqlite").write_text("nothing of the kind, at length" * 50, encoding="utf-8")
    with pytest.raises(StorageError, match=r"file is not a database; delete odd\.sqlite"):
        opened("odd.sqlite")
    assert (project / "odd.sqlite").read_text(encoding="utf-8").startswith("nothing")


def test_a_damaged_index_is_named(url: str) -> None:
    if "://" in url:
        pytest.skip("the file of SQLite is meant")
    some_runs(3)
    sync(url)
    file = Path(url)
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(RagEvalError, match=r"history\.sqlite: .*; delete history.sqlite"):
        sync(url)


def test_another_who_writes_for_long_is_waited_for_no_longer_than_told(project: Path) -> None:
    opened("index.sqlite")
    other = sqlite3.connect("index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match=r"index\.sqlite: database is locked"):
        IndexDatabase("index.sqlite", rootdir=project, write=True, patience_s=0.2)
    other.close()


def test_an_index_is_read_while_another_writes(project: Path) -> None:
    opened("index.sqlite")
    other = sqlite3.connect("index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert opened("index.sqlite", write=False)
    other.close()


def test_an_index_that_cannot_be_written_is_read_and_a_sync_says_so(project: Path) -> None:
    some_runs(1)
    sync("index.sqlite")
    (project / "index.sqlite").chmod(0o444)
    project.chmod(0o555)
    try:
        with without_root_rights():
            assert opened("index.sqlite", write=False)
            with pytest.raises(StorageError, match=r"index\.sqlite: attempt to write a readonly"):
                sync("index.sqlite")
    finally:
        project.chmod(0o755)


@pytest.mark.slow
def test_a_writer_in_postgresql_is_waited_for_no_longer_than_told(
    postgres: str, project: Path
) -> None:
    with (
        IndexDatabase(postgres, rootdir=project, write=True) as one,
        IndexDatabase(postgres, rootdir=project, write=True, patience_s=0.2) as other,
        IndexDatabase(postgres, rootdir=project, write=False) as reader,
        one.transaction(),
    ):
        with reader.transaction():
            pass
        with (
            pytest.raises(StorageError, match="canceling statement due to lock timeout"),
            other.transaction(),
        ):
            pass


@pytest.mark.slow
def test_a_schema_of_our_own_in_a_database_of_others(postgres: str) -> None:
    execute(postgres, "CREATE TABLE metrics (a INTEGER)")
    execute(postgres, "CREATE SCHEMA IF NOT EXISTS evals")
    some_runs(1)
    apart = f"{postgres}&options=-csearch_path%3Devals"
    assert sync(apart).added == ["r1"]
    assert sync(apart).unchanged == ["r1"]
    assert rows(postgres, "metrics") == []
    execute(postgres, "DROP SCHEMA evals CASCADE")


@pytest.mark.slow
def test_nothing_shows_the_password(postgres: str) -> None:
    assert opened(postgres) == "postgresql+psycopg:///postgres"
    some_runs(1)
    sync(postgres)
    assert indexed_runs(postgres) == ["r1"]
    assert "hunter2secret" not in repr(rows(postgres, "evaluation_runs"))
