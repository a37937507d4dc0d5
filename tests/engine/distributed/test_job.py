from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.engine.distributed import job as jobs
from pytest_rageval.engine.distributed.job import Job, open_job
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.settings import Settings


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files to score in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("c.jsonl").write_text("{}\n", encoding="utf-8")
    Path("r.jsonl").write_text("{}\n", encoding="utf-8")


def job_in(folder: str | None = "parts", registry: Registry = BUILT_IN, k: int = 5) -> Job:
    settings = Settings(rootdir=str(Path.cwd()), k=k)
    place = None if folder is None else Path(folder)
    return open_job(Path("c.jsonl"), Path("r.jsonl"), settings, registry, place)


def names(job: Job) -> set[str]:
    return set(os.listdir(job.folder))


def test_a_folder_holds_the_parts_of_one_job() -> None:
    job = job_in()
    with job.claimed():
        job.write("part-0", b"x")
    with job_in().claimed():
        assert job.has("part-0")
    other = job_in(k=7)
    with pytest.raises(StorageError, match="other files, settings or versions"), other.claimed():
        pass
    assert names(job) == {"job.json", "part-0"}


def test_a_second_command_waits_outside_and_changes_nothing() -> None:
    job = job_in()
    for second in (job_in(), job_in(k=7)):
        with job.claimed():
            with pytest.raises(StorageError, match="another session"), second.claimed():
                pass
            job.check()


@pytest.mark.parametrize("name", ["notes.txt", ".lock-notes", "part-0"])
def test_a_folder_with_other_files_is_refused_and_left_as_it_is(name: str) -> None:
    Path("parts").mkdir()
    Path("parts", name).touch()
    Path("parts", ".lock").touch()
    with pytest.raises(StorageError, match="holds other files"), job_in().claimed():
        pass
    assert names(job_in()) == {name, ".lock"}


def test_a_command_that_was_killed_at_its_beginning_leaves_a_usable_folder() -> None:
    Path("parts").mkdir()
    for name in (".lock", ".job.json.rageval-123.tmp"):
        Path("parts", name).touch()
    job = job_in()
    with job.claimed():
        job.remove()
    assert not job.folder.exists()


def test_only_files_of_the_job_are_removed() -> None:
    job = job_in()
    own = ("table", "cases-0", "responses-12.index", "reported-3", "part-4", "part-4.metrics")
    others = {"notes.txt", "part-time.txt", "table.csv", "folder"}
    with job.claimed():
        for name in (*own, ".part-4.columns.rageval-77.tmp", *(others - {"folder"})):
            job.write(name, b"x")
        (job.folder / "folder").mkdir()
        job.remove()
        assert names(job) == {*others, ".lock"}
    assert names(job) == others


def test_the_name_of_the_job_goes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_in()
    gone = []
    with job.claimed():
        for name in ("part-0", "table", "cases-0"):
            job.write(name, b"x")
        monkeypatch.setattr(Path, "unlink", lambda path, **_: gone.append(path.name))
        job.remove()
        monkeypatch.undo()
    assert {*gone[:-1]} == {"part-0", "table", "cases-0"}
    assert gone[-1] == "job.json"


def test_a_folder_among_the_results_has_the_name_of_its_job() -> None:
    assert job_in(None).folder == job_in(None).folder
    assert job_in(None).folder.parent == Path.cwd() / "evals/results"
    assert job_in(None, k=7).folder != job_in(None).folder
    before = job_in(None).folder
    os.utime("r.jsonl", ns=(1, 1))
    assert job_in(None).folder != before


def test_a_file_that_is_named_by_its_whole_path_belongs_to_the_same_job() -> None:
    settings = Settings(rootdir=str(Path.cwd()))
    found = open_job(Path("c.jsonl").absolute(), Path("r.jsonl"), settings, BUILT_IN, None)
    assert found.files["cases"].shown == "c.jsonl"
    assert found.name == job_in(None).name


def test_parts_of_metrics_in_code_are_never_used_again() -> None:
    own = MetricInfo(key="house.own", title="own", population="all", level="own", source="m")
    coded = replace(own, compute=lambda case, reply: None)
    assert (
        job_in(registry=BUILT_IN.with_([own])).name == job_in(registry=BUILT_IN.with_([own])).name
    )
    coded_registry = BUILT_IN.with_([coded])
    assert job_in(registry=coded_registry).name != job_in(registry=coded_registry).name


@pytest.mark.parametrize("package", ["python", "pytest-rageval", "numpy", "snowballstemmer"])
def test_a_worker_of_another_version_is_refused(package: str) -> None:
    job = job_in()
    other = replace(job, versions={**job.versions, package: "0.0.1"})
    with job.claimed():
        job.check()
        with pytest.raises(ConfigError, match=rf"a worker has {package} .* expected 0\.0\.1"):
            other.check()


def test_a_worker_with_another_job_in_its_folder_is_refused() -> None:
    job = job_in()
    with job.claimed(), pytest.raises(StorageError, match="parts of another job"):
        job_in(k=7).check()


def test_a_folder_is_no_file_to_score() -> None:
    Path("c.jsonl").unlink()
    Path("c.jsonl").mkdir()
    with pytest.raises(StorageError, match="expected a file"):
        job_in()


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 100_000])
def test_the_ranges_of_a_file_cover_it_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_RANGE_BYTES", 100)
    one = replace(job_in().files["cases"], size=size)
    assert [byte for start, end in one.ranges for byte in range(start, end)] == [*range(size)]
    assert len(one.ranges) <= 256
