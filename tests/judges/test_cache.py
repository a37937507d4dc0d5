from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.judges import cache as store
from pytest_rageval.judges.cache import JudgeCache, judgement_key
from pytest_rageval.values.errors import StorageError
from tests.build.root_rights import without_root_rights

JUDGE = "gpt-5-mini-2025-08-07 at https://api.example.org/v1"
DAY = 86_400.0
START = 1_790_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "judge.sqlite"


@pytest.fixture
def cache(file: Path, clock: Clock) -> Iterator[JudgeCache]:
    with JudgeCache(file, clock=clock) as cache:
        yield cache


def key(**changes: Any) -> str:
    parts: dict[str, Any] = {
        "identity": JUDGE,
        "parameters": {"temperature": 0.0, "seed": 0},
        "rubric_version": "groundedness-0123456789ab",
        "level": "json_schema",
        "prompt_sha256": "a" * 64,
        "repeat": 0,
    }
    return judgement_key(**{**parts, **changes})


def nth(n: int) -> str:
    return key(repeat=n)


# --- keys ----------------------------------------------------------------------------------


def test_a_key_stays_the_same_from_version_to_version() -> None:
    assert key() == "cf6420ba83a44d4ca286e6cb4053c0fa22294c5849343fe3e689eb58f88fb8dd"


@pytest.mark.parametrize(
    "change",
    [
        {"identity": JUDGE + "/"},
        {"parameters": {"temperature": 0.1, "seed": 0}},
        {"parameters": {"temperature": 0}},
        {"parameters": {"temperature": 0, "seed": False}},
        {"parameters": {"temperature": 0, "seed": "0"}},
        {"parameters": {"temperature": 0, "seed": None}},
        {"rubric_version": "groundedness-0123456789ac"},
        {"level": "text"},
        {"prompt_sha256": "b" * 64},
        {"repeat": 1},
    ],
)
def test_each_part_of_a_question_makes_another_key(change: dict[str, Any]) -> None:
    assert key(**change) != key()


# --- entries -------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any text at all, half surrogate pairs, NUL and line separators included."""
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeCache]:
    with JudgeCache(tmp_path_factory.mktemp("cache") / "judge.sqlite") as cache:
        yield cache


@given(document=st.dictionaries(TEXT, PLAIN, max_size=4), identity=TEXT)
def test_any_json_document_comes_back_as_it_was(
    shared: JudgeCache, document: dict[str, Any], identity: str
) -> None:
    assert shared.put(nth(0), document, identity=identity)
    found = shared.get(nth(0))
    assert found == document
    assert repr(found) == repr(document)


def test_entries_outlive_the_process_that_wrote_them(cache: JudgeCache, file: Path) -> None:
    cache.put(nth(0), {"score": 4.5}, identity=JUDGE)
    cache.close()
    with JudgeCache(file) as again:
        assert again.get(nth(0)) == {"score": 4.5}


def test_a_document_that_is_too_long_is_not_kept_and_the_user_is_told(cache: JudgeCache) -> None:
    longest = store.MAX_DOCUMENT_BYTES - len('{"x":""}')
    assert cache.put(nth(0), {"x": "y" * longest}, identity=JUDGE)
    assert cache.warning is None
    assert not cache.put(nth(1), {"x": "y" * (longest + 1)}, identity=JUDGE)
    assert cache.get(nth(1)) is None
    assert cache.warning == f"{cache.shown}: a verdict of 1,000,001 bytes is too long to be kept"
    assert not cache.read_only


def test_an_entry_that_broke_is_asked_again_and_healed(cache: JudgeCache, file: Path) -> None:
    cache.put(nth(0), {"score": 4}, identity=JUDGE)
    for broken in ('{"score":', "[1]", "", "[" * 100_000):
        _change(file, "UPDATE rageval_judge_verdicts SET document = ?", broken)
        assert cache.get(nth(0)) is None
    assert cache.warning == f"{file}: entry {nth(0)[:12]}: no JSON object, asked again"
    cache.put(nth(0), {"score": 5}, identity=JUDGE)
    assert cache.get(nth(0)) == {"score": 5}


def _change(file: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_levels_are_kept_by_endpoint_and_model(cache: JudgeCache, file: Path) -> None:
    level = {"level": "json_object", "dropped": ["seed"]}
    cache.put_level("https://me:s3cret@example.org/v1", "m", level)
    cache.put_level("https://example.org/v1", "m", {**level, "dropped": []})
    cache.put_level("https://example.org/v1", "\ud800", level)
    cache.close()
    with JudgeCache(file) as again:
        assert again.get_level("https://example.org/v1", "m") == {**level, "dropped": []}
        assert again.get_level("https://example.org/v1", "\ud800") == level
        assert again.get_level("https://example.org/v1", "n") is None
        assert again.get_level("https://example.org/v2", "m") is None


def test_no_credentials_reach_the_disk(cache: JudgeCache, file: Path) -> None:
    address = "https://me:hunter2@example.org/v1?api_key=s3cret"
    secret_key = key(identity=f"m at {address}", parameters={"user": "classified"})
    cache.put(secret_key, {"score": 4}, identity=f"m at {address}")
    cache.put_level(address, "m", {"level": "text"})
    assert cache.stats().by_identity == {"m at https://example.org/v1": 1}
    kept = b"".join(path.read_bytes() for path in file.parent.iterdir())
    cache.close()
    kept += file.read_bytes()
    assert b"m at https://example.org/v1" in kept
    for secret in (b"hunter2", b"s3cret", b"classified"):
        assert secret not in kept


# --- last uses and pruning -----------------------------------------------------------------


def _uses(file: Path) -> list[float]:
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT used_at FROM rageval_judge_verdicts ORDER BY used_at")
    found = [row[0] - START for row in rows]
    connection.close()
    return found


def filled(cache: JudgeCache, clock: Clock, *, days: int = 6) -> None:
    """One entry a day, of two judges in turn."""
    for n in range(days):
        clock.now = START + n * DAY
        cache.put(nth(n), {"n": n}, identity="ab"[n % 2])


def left(cache: JudgeCache) -> list[int]:
    return [n for n in range(6) if cache.get(nth(n)) is not None]


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ({"older_than": timedelta(days=3)}, [3, 4, 5]),
        ({"older_than": timedelta(0)}, []),
        ({"older_than": timedelta(days=9)}, [0, 1, 2, 3, 4, 5]),
        ({"identity": "a"}, [1, 3, 5]),
        ({"identity": "nobody"}, [0, 1, 2, 3, 4, 5]),
        ({"identity": "a", "older_than": timedelta(days=3)}, [1, 3, 4, 5]),
    ],
)
def test_pruning_keeps_what_was_used_last(
    cache: JudgeCache, clock: Clock, how: dict[str, Any], kept: list[int]
) -> None:
    filled(cache, clock)
    assert cache.prune(**how) == 6 - len(kept)
    assert left(cache) == kept


def test_stats_count_entries_by_judge(cache: JudgeCache, clock: Clock) -> None:
    assert cache.stats() == store.CacheStats(
        entries=0, document_bytes=0, by_identity={}, oldest_use=None, newest_use=None
    )
    filled(cache, clock, days=3)
    assert cache.stats() == store.CacheStats(
        entries=3,
        document_bytes=3 * len('{"n":0}'),
        by_identity={"a": 2, "b": 1},
        oldest_use=datetime.fromtimestamp(START, UTC),
        newest_use=datetime.fromtimestamp(START + 2 * DAY, UTC),
    )


# --- places --------------------------------------------------------------------------------


def test_a_new_folder_tells_git_to_leave_it_alone(cache: JudgeCache, file: Path) -> None:
    rule = (file.parent / ".gitignore").read_text(encoding="utf-8")
    assert rule.splitlines()[-1] == "*"


@pytest.mark.parametrize("version", [0, 2])
def test_a_file_of_another_version_is_refused(file: Path, version: int) -> None:
    JudgeCache(file).close()
    _change(file, "UPDATE rageval_judge_cache SET version = ?", version)
    with pytest.raises(StorageError) as caught:
        JudgeCache(file)
    assert str(caught.value) == (
        f"{file}: a judge cache of version {version}, expected 1; delete the file, and what it "
        "contained is asked again"
    )


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at" * 50, b"\x00" * 4096]
)
def test_a_file_that_is_no_database_is_named(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(StorageError) as caught:
        JudgeCache(file)
    assert str(caught.value).startswith(f"{file}: file is not a database; delete")
    assert file.read_bytes() == content


def put_many(cache: JudgeCache, text: str) -> None:
    for n in range(200):
        cache.put(nth(n), {"x": text}, identity=JUDGE)


def test_a_file_with_broken_pages_is_named(file: Path) -> None:
    with JudgeCache(file) as cache:
        put_many(cache, "y" * 500)
    whole = file.read_bytes()
    file.write_bytes(whole[:40_960] + b"\xff" * (len(whole) - 40_960))
    malformed = f"{file}: database disk image is malformed; delete"
    with JudgeCache(file) as cache:
        with pytest.raises(StorageError) as caught:
            cache.stats()
        assert str(caught.value).startswith(malformed)
        with pytest.raises(StorageError) as caught:
            put_many(cache, "z" * 5000)
        assert str(caught.value).startswith(malformed)
        assert cache.warning is None


# --- places that cannot be written ---------------------------------------------------------


@pytest.fixture
def read_only(file: Path) -> Iterator[Path]:
    """A cache with one entry in a folder where nothing can be written."""
    with JudgeCache(file) as cache:
        cache.put(nth(0), {"score": 4}, identity=JUDGE)
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        with without_root_rights():
            yield file
    finally:
        file.parent.chmod(0o755)
        file.chmod(0o644)


def test_a_folder_that_cannot_be_written_is_read(read_only: Path, clock: Clock) -> None:
    before = read_only.read_bytes()
    with JudgeCache(read_only, clock=clock) as cache:
        assert cache.read_only
        assert cache.warning == (
            f"{read_only}: new verdicts are not kept: attempt to write a readonly database"
        )
        clock.now += 9e8
        assert cache.get(nth(0)) == {"score": 4}
        assert not cache.put(nth(1), {"score": 1}, identity=JUDGE)
        assert not cache.put_level("http://x", "m", {})
        assert cache.get(nth(1)) is None
        assert cache.stats().entries == 1
        with pytest.raises(StorageError, match="new verdicts are not kept"):
            cache.prune(older_than=timedelta())
    assert read_only.read_bytes() == before
    assert [path.name for path in read_only.parent.iterdir()] == [".gitignore", read_only.name]


def test_a_cache_that_others_block_goes_on_without_keeping(
    cache: JudgeCache, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(nth(0), {"score": 4}, identity=JUDGE)
    monkeypatch.setattr(store, "BUSY_S", 0.05)
    with JudgeCache(file) as impatient:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert not impatient.put(nth(1), {"score": 1}, identity=JUDGE)
        assert impatient.get(nth(0)) == {"score": 4}
        assert impatient.warning == f"{file}: new verdicts are not kept: database is locked"
        other.close()


def test_a_full_disk_does_not_end_a_run(cache: JudgeCache, file: Path) -> None:
    fill_disk(cache)
    assert not cache.put(nth(0), {"x": "y" * 100_000}, identity=JUDGE)
    assert cache.warning == f"{file}: new verdicts are not kept: database or disk is full"
    assert cache.get(nth(0)) is None


def fill_disk(cache: JudgeCache) -> None:
    ((pages,),) = cache._read("PRAGMA page_count")
    cache._read(f"PRAGMA max_page_count={pages}")
