import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.collect import collect, iterate_rows
from pytest_rageval.values.errors import DatasetError

ROWS: list[dict[str, Any]] = [{"id": "1", "question": "a?"}, {"id": "2", "question": "b?"}]
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.jsonl", LINES),
        ("log.json", LINES),
        ("log.jsonl", f"\ufeff{LINES}\r\n\n"),
        ("log.json", json.dumps(ROWS)),
        ("log.json", json.dumps(ROWS, indent=2)),
        ("log.json", json.dumps({"data": ROWS})),
        ("log.csv", "id,question\n1,a?\n2,b?\n"),
        ("log.csv", "id;question\n1;a?\n2;b?\n"),
        ("log.csv", "\ufeffsep=;\nid;question\n1;a?\n2;b?\n"),
        ("log.tsv", "id\tquestion\n1\ta?\n2\tb?\n"),
    ],
)
@pytest.mark.parametrize("is_large", [False, True])
def test_rows_are_read_in_each_form(
    name: str, text: str, is_large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(text.encode("utf-8")))
    assert [row for _, row in iterate_rows(path, ["data"])] == ROWS
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    if is_large:
        monkeypatch.setattr("pytest_rageval.authoring.inbox.collect.WHOLE_BYTES", 40)

    assert [row for _, row in iterate_rows(path, ["data"])] == ROWS


@pytest.mark.parametrize(
    ("name", "data", "codes", "line"),
    [
        ("log.jsonl", b'{"question": "a?"}\n{"question": \n', ["not_json"], 2),
        ("log.jsonl", b'{"question": "a?"}\n[1]\n', ["type"], 2),
        ("log.jsonl", b'{"question": "a?"}\n{"question": "\xe4"}\n', ["not_utf8"], 2),
        ("log.json", b'[{"question": "a?"},\n{"question" "b"}]', ["not_json"], 2),
        ("log.json", b'{"data": [1]}', ["type"], 0),
        ("log.csv", b"id,question\n1\n", ["many_cells"], 2),
        ("log.csv", b"sep=;\nid;question\n1;a?;b\n", ["many_cells"], 3),
        ("log.jsonl", b'{"messages": [["user", ' + b"[" * 960 + b"]" * 960 + b"]]}", ["deep"], 1),
        ("log.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)[:-12], ["unreadable"], 0),
        ("log.jsonl.gz", LINES.encode(), ["unreadable"], 0),
        ("log.jsonl", b'{"other": 1}\n', ["no_requests"], 0),
        ("log.jsonl", b"", ["no_requests"], 0),
    ],
)
def test_a_damaged_log_is_refused_with_its_place(
    name: str, data: bytes, codes: list[str], line: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(DatasetError) as refused:
        collect([path], "jsonl")

    assert [fault.code for fault in refused.value.faults] == codes
    assert [fault.line for fault in refused.value.faults] == [line]
    assert path.as_posix() in str(refused.value)
