from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from pytest_rageval.runs.store import (
    RunWriter,
    list_runs,
    new_run_id,
    no_runs,
    read_json,
    read_record,
    read_records,
    resolve_run,
    run_time,
    write_document,
    write_text_document,
)
from pytest_rageval.runs.tags import remove_tag, write_tag
from pytest_rageval.values.errors import StorageError
from tests.build.records import changed
from tests.runs.test_documents_record_json import RECORD


def write_run(results: Path, name: str, timestamp: str | None = None) -> Path:
    with RunWriter(results, name) as writer:
        writer.append(RECORD)
        if timestamp is not None:
            write_document(writer.path, "config.json", {"timestamp": timestamp})
    return writer.path


# --- names -----------------------------------------------------------------------------------


def test_runs_of_one_minute_have_other_names() -> None:
    assert len({new_run_id(datetime(2026, 1, 1, tzinfo=UTC)) for _ in range(9)}) > 1


def test_the_name_of_a_run_begins_with_its_minute_in_utc() -> None:
    east = timezone(timedelta(hours=9))
    name = new_run_id(datetime(2026, 11, 21, 4, 58, 59, tzinfo=east))
    assert re.fullmatch(r"20261120-1958-[0-9a-f]{4}", name)


def test_a_new_run_has_no_name_of_a_tag_and_a_resumed_one_is_there(tmp_path: Path) -> None:
    write_tag(tmp_path, "main", write_run(tmp_path, "r").name)
    for name, resume, code in (("main", False, "duplicate"), ("gone", True, "absent")):
        with pytest.raises(StorageError) as raised:
            RunWriter(tmp_path, name, resume=resume)
        assert raised.value.faults[0].code == code
        assert not (tmp_path / name).exists()


def test_a_writer_refuses_a_name_that_leaves_its_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="run id: got"):
        RunWriter(tmp_path / "results", "../x")
    assert not (tmp_path / "results").exists()


def test_a_writer_goes_on_in_a_folder_that_another_system_could_not_have(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"run id: got 'con', expected .* a device of Windows"):
        RunWriter(tmp_path / "results", "con")
    with RunWriter(tmp_path / "results", "r"):
        pass
    (tmp_path / "results" / "r").rename(tmp_path / "results" / "con")
    with RunWriter(tmp_path / "results", "con", resume=True) as writer:
        assert writer.run_id == "con"


# --- writing ---------------------------------------------------------------------------------


def test_a_record_is_on_disk_before_the_run_ends(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "a" / "results", "r") as writer:
        writer.append(RECORD)
        assert read_records(writer.path) == [RECORD]
        writer.append(replace(RECORD, repeat=1))
        assert [record.repeat for record in read_records(writer.path)] == [0, 1]


@pytest.mark.parametrize("text", ["a\nb\r\nc", "\u2028\u0085\x1c", "😀é", '"\\'])
def test_any_text_stays_on_the_line_of_its_record(tmp_path: Path, text: str) -> None:
    record = changed(RECORD, answer=text, answer_chars=len(text))
    with RunWriter(tmp_path, "r") as writer:
        writer.append(record)
        writer.append(record)
    assert read_records(writer.path) == [record, record]
    assert (writer.path / "results.jsonl").read_bytes().count(b"\n") == 2


def test_a_number_that_json_lacks_is_refused_and_leaves_no_line(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r") as writer:
        with pytest.raises(ValueError, match="JSON compliant"):
            writer.append(replace(RECORD, latency={"total_ms": float("nan")}))
        with pytest.raises(ValueError, match="JSON compliant"):
            write_document(writer.path, "metrics.json", {"a": float("inf")})
        assert read_records(writer.path) == []
        assert sorted(os.listdir(writer.path)) == [".lock", "results.jsonl"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_named_when_appending_and_when_closing(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, "r")
    with Path("/dev/full").open("wb") as full:
        os.dup2(full.fileno(), writer._lines.fileno())
    message = r"results\.jsonl: cannot be written: No space"
    with pytest.raises(StorageError, match=message):
        writer.append(RECORD)
    with pytest.raises(StorageError, match=message):
        writer.close()
    assert writer._lines.closed


def test_a_run_cannot_begin_in_a_file_nor_be_read_without_records(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageError) as raised:
        RunWriter(tmp_path / "file", "r")
    assert raised.value.faults[0].code == "no_results_folder"
    with pytest.raises(StorageError) as raised:
        read_records(tmp_path)
    assert raised.value.faults[0].code == "no_results"


@pytest.mark.posix
def test_a_record_for_a_file_that_was_removed_is_an_error(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r") as writer:
        (writer.path / "results.jsonl").unlink()
        with pytest.raises(StorageError) as raised:
            writer.append(RECORD)
    assert raised.value.faults[0].code == "gone"


def test_a_discarded_run_leaves_nothing_and_its_name_is_free(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r") as writer:
        writer.append(RECORD)
        writer.discard()
        assert writer._lines.closed
        assert not writer.path.exists()
    assert read_records(write_run(tmp_path, "r")) == [RECORD]


def test_lines_of_several_threads_do_not_mix(tmp_path: Path) -> None:
    record = changed(RECORD, answer="x" * 20_000)
    with RunWriter(tmp_path, "r") as writer:

        def append_some() -> None:
            for _ in range(10):
                writer.append(record)

        threads = [threading.Thread(target=append_some) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert read_records(writer.path) == [record] * 40


def test_a_run_that_exists_is_not_written_over(tmp_path: Path) -> None:
    write_run(tmp_path, "r")
    before = (tmp_path / "r" / "results.jsonl").read_bytes()
    with pytest.raises(StorageError, match=r"r: exists, and nothing is overwritten") as raised:
        RunWriter(tmp_path, "r")
    assert (tmp_path / "r" / "results.jsonl").read_bytes() == before
    with RunWriter(tmp_path, "r", resume=True):  # for which the refused one has left the folder
        assert raised.value


def test_an_empty_folder_may_become_a_run(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    assert read_records(write_run(tmp_path, "r")) == [RECORD]


def test_a_document_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r") as writer:
        write_document(writer.path, "metrics.json", {"a": "x" * 1000})
        path = write_document(writer.path, "metrics.json", {"é": "\ud800"})
    write_text_document(writer.path, "summary.md", "# é\n")  # into a run that has ended
    with pytest.raises(StorageError, match=r"gone/more.json: cannot be written: "):
        write_document(tmp_path / "gone", "more.json", {})
    assert read_json(path) == {"é": "\ud800"}
    assert (writer.path / "summary.md").read_bytes() == "# é\n".encode()
    assert sorted(os.listdir(writer.path)) == ["metrics.json", "results.jsonl", "summary.md"]


def test_a_failed_replacement_keeps_the_old_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with RunWriter(tmp_path, "r") as writer:
        path = write_document(writer.path, "metrics.json", {"a": 1})
        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(StorageError, match=r"metrics\.json: cannot be written: No space"):
            write_document(writer.path, "metrics.json", {"a": 2})
    assert read_json(path) == {"a": 1}
    assert sorted(os.listdir(writer.path)) == ["metrics.json", "results.jsonl"]


@pytest.mark.parametrize("name", ["../x.json", "a/b.json", "/x.json"])
def test_a_document_stays_in_its_run(tmp_path: Path, name: str) -> None:
    with RunWriter(tmp_path, "r") as writer, pytest.raises(ValueError, match="plain file name"):
        write_text_document(writer.path, name, "")


# --- git -------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_sees_numbers_and_settings_of_tagged_runs_and_nothing_else(tmp_path: Path) -> None:
    results = tmp_path / "evals" / "results"
    for run_id in ("r", "untagged", "moved"):
        with RunWriter(results, run_id) as writer:
            writer.append(RECORD)
            for name in ("metrics.json", "gate.json", "config.json", "groups.json", "diff.json"):
                write_document(writer.path, name, {})
            for name in ("summary.md", "report.html"):
                write_text_document(writer.path, name, "")
        (writer.path / "deep").mkdir()
        (writer.path / "deep" / "metrics.json").write_text("", encoding="utf-8")
    for tag, run_id in (("main", "moved"), ("main", "r"), ("gone", "untagged"), ("two", "r")):
        write_tag(results, tag, run_id)
    for tag in ("gone", "two"):
        remove_tag(results, tag)
    assert _git_adds(tmp_path) == [
        ".gitignore",
        "r/.gitignore",
        "r/config.json",
        "r/gate.json",
        "r/metrics.json",
        "r/summary.md",
        "tags/main",
    ]


def _git_adds(tmp_path: Path) -> list[str]:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=environ)
    listed = subprocess.run(
        ["git", "ls-files"], cwd=tmp_path, check=True, env=environ, capture_output=True, text=True
    )
    return [line.removeprefix("evals/results/") for line in listed.stdout.split()]


# --- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_a_torn_last_line_is_left_out(tmp_path: Path, cut: int) -> None:
    path = write_run(tmp_path, "r") / "results.jsonl"
    whole = path.read_bytes()
    # The line break alone may be what the kill took: then the record is whole.
    path.write_bytes(whole + whole[:-cut])
    assert len(read_records(path)) == (2 if cut == 1 else 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "results.jsonl:2: Input data was truncated"),
        (b"\xff", "results.jsonl:2: JSON is malformed"),
        (b"[1]", "results.jsonl:2: Expected `object`, got `array`"),
        (b'{"schema_version": 9}', r"results.jsonl:2: Invalid .* 9 - at `\$.schema_version`"),
        (b'{"schema_version": 1}', "results.jsonl:2: Object missing required field `case`"),
    ],
)
def test_a_broken_line_before_the_last_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = write_run(tmp_path, "r") / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + line + b"\n" + whole)
    with pytest.raises(StorageError, match=message):
        read_records(path)


def test_one_record_is_read_by_the_place_of_its_line(tmp_path: Path) -> None:
    with RunWriter(tmp_path, "r") as writer:
        places = [writer.append(replace(RECORD, repeat=n)) for n in range(3)]
    assert [read_record(writer.path, place).repeat for place in places] == [0, 1, 2]
    with pytest.raises(StorageError) as raised:
        read_record(writer.path, places[2] + 1)
    assert [(fault.code, fault.line) for fault in raised.value.faults] == [("broken_record", 3)]


def test_records_take_the_place_of_those_that_were_written_and_others_follow(
    tmp_path: Path,
) -> None:
    with RunWriter(tmp_path, "r") as writer:
        for n in range(3):
            writer.append(replace(RECORD, repeat=n))
        places = writer.rewrite(replace(RECORD, repeat=n) for n in (7, 8))
        last = writer.append(replace(RECORD, repeat=9))
    assert [record.repeat for record in read_records(writer.path)] == [7, 8, 9]
    assert [read_record(writer.path, place).repeat for place in (*places, last)] == [7, 8, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "truncated"),
        ("[]", "Expected `object`, got `array`"),
        ("[" * 100_000, "Expected `object`, got `array`"),
        ('{"a": -1e400}', "Number out of range"),
        ('{"a": [NaN]}', "JSON is malformed"),
        ('{"a": 1' + "0" * 5000 + "}", "out of range"),
    ],
    ids=["cut off", "a list", "nested", "infinite", "not a number", "too many digits"],
)
def test_a_broken_document_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "metrics.json").write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match=rf"metrics\.json: .*{message}"):
        read_json(tmp_path / "metrics.json")


# --- resuming --------------------------------------------------------------------------------


@pytest.mark.parametrize("tail", [b"", b"\n", b'\n{"case_id": "tor', b"\n\xc3"])
def test_a_resumed_run_loses_its_torn_line_and_grows(tmp_path: Path, tail: bytes) -> None:
    path = write_run(tmp_path, "r") / "results.jsonl"
    # A record that only lacks its line break is kept.
    path.write_bytes(path.read_bytes().rstrip(b"\n") + tail)
    with RunWriter(tmp_path, "r", resume=True) as writer:
        writer.append(replace(RECORD, repeat=1))
    assert [record.repeat for record in read_records(path)] == [0, 1]


# --- naming a run ----------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_run(folder, "20260103-0000-aaaa", "2026-01-03T00:00:00+00:00")
    write_run(folder, "zz-oldest", "2026-01-01T00:00:00+00:00")
    write_run(folder, "20260102-0000-bbbb", "2026-01-02T00:00:00Z")
    (folder / "no-run").mkdir()
    return folder


def test_runs_are_listed_by_time_oldest_first(results: Path) -> None:
    names = [path.name for path in list_runs(results)]
    assert names == ["zz-oldest", "20260102-0000-bbbb", "20260103-0000-aaaa"]


@pytest.mark.parametrize(
    ("timestamp", "time"),
    [
        ("1970-01-01T00:01:00", 60),  # UTC
        ("1970-01-01T01:00:00+01:00", 0),
        ("yesterday", 7),
        (60, 7),
    ],
)
def test_the_time_of_a_run_is_stored_or_else_that_of_its_records(
    tmp_path: Path, timestamp: object, time: float
) -> None:
    path = write_run(tmp_path, "r")
    write_document(path, "metrics.json", {})
    os.utime(path / "results.jsonl", (7, 7))
    assert run_time(path) == 7
    write_document(path, "config.json", {"timestamp": timestamp})
    assert run_time(path) == time


def test_a_tag_is_found_before_a_prefix_and_names_its_run_even_under_way(results: Path) -> None:
    tagged = results / "20260102-0000-bbbb"
    write_tag(results, "z", tagged.name)
    assert resolve_run(results, "z") == resolve_run(results, "z", exclude=tagged.name) == tagged
    shutil.rmtree(tagged)
    for code in ("tag_lost", "tag_malformed"):
        with pytest.raises(StorageError) as raised:
            resolve_run(results, "z")
        assert raised.value.faults[0].code == code
        (results / "tags" / "z").write_text("no id", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("zz-oldest", "zz-oldest"),
        ("z", "zz-oldest"),
        ("20260102", "20260102-0000-bbbb"),
        ("last", "20260103-0000-aaaa"),
        ("last~0", "20260103-0000-aaaa"),
        ("last~1", "20260102-0000-bbbb"),
        ("last~2", "zz-oldest"),
    ],
)
def test_a_run_is_found_by_id_prefix_or_age(results: Path, name: str, found: str) -> None:
    assert resolve_run(results, name) == results / found


@pytest.mark.parametrize("part", ["", "config.json", "results.jsonl"])
def test_a_run_is_found_by_a_path_from_where_the_caller_says(results: Path, part: str) -> None:
    path = results / "zz-oldest" / part
    for given, root in ((str(path), None), (f"results/zz-oldest/{part}", results.parent)):
        found = resolve_run(Path("elsewhere"), given, relative_to=root)
        assert found == results / "zz-oldest"


def test_the_run_under_way_is_never_the_last_one(results: Path) -> None:
    write_run(results, "now")
    assert resolve_run(results, "last").name == "now"
    assert resolve_run(results, "last", exclude="now").name == "20260103-0000-aaaa"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "2026",
            "2 names begin like this, among them 20260102-0000-bbbb, 20260103-0000-aaaa",
        ),
        ("last~3", r"run 'last~3': .*results contains only 3 runs"),
        ("zz-oldets", "run 'zz-oldets': not found, did you mean \"zz-oldest\"\\?"),
        ("nothing", "run 'nothing': not found; the latest in .* are zz-oldest, 20260102"),
        ("", "run '': not found"),
        ("no-run", "run 'no-run': not found"),
        ("x" * 5000, "run 'xxx"),
        (f"last~{'9' * 5000}", "run 'last~999"),
        ("x\0", "run 'x.x00': not found"),
    ],
)
def test_a_name_that_means_no_run_or_several_is_refused(
    results: Path, name: str, message: str
) -> None:
    with pytest.raises(StorageError, match=message):
        resolve_run(results, name)


@pytest.mark.parametrize("name", ["last", "last~1", "x"])
def test_without_runs_the_command_that_makes_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "evals" / "results"
    results.mkdir(parents=True)
    assert no_runs(results).facts == {"folder": str(results), "command": "pytest"}
    (tmp_path / "evals" / "set.jsonl").write_text("", encoding="utf-8")
    assert no_runs(results).facts["command"] == "pytest evals/"
    with pytest.raises(StorageError, match=re.escape(str(no_runs(results)))):
        resolve_run(results, name)
    if name != "x":
        with pytest.raises(StorageError) as raised:
            resolve_run(results, name, exclude="now")
        assert raised.value.faults[0].code == "first_run"


# --- links and pipes ---------------------------------------------------------------------------


@pytest.mark.posix
@pytest.mark.parametrize("name", ["", "results.jsonl"])
def test_nothing_is_resumed_through_a_link(tmp_path: Path, name: str) -> None:
    results = tmp_path / "results"
    path = write_run(results, "one") / name
    path.rename(tmp_path / "elsewhere")
    before = read_records(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is a link"):
        RunWriter(results, "one", resume=True)
    assert read_records(tmp_path / "elsewhere") == before


@pytest.mark.posix
def test_a_pipe_in_the_place_of_records_is_not_waited_for(tmp_path: Path) -> None:
    file = write_run(tmp_path, "one") / "results.jsonl"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(StorageError, match="not a plain file"):
        RunWriter(tmp_path, "one", resume=True)
    with pytest.raises(StorageError, match="not a plain file"):
        read_records(file)
