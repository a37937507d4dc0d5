""""""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.inbox.collect import Masker, collect, iterate_rows
from pytest_rageval.values.errors import DatasetError

CANARIES = {
    "email": [
        "ada.lovelace@example.com", "ada+eval@mail.example.co.uk", "o'brien@example.ie",
        "müller@example.de", "ada@localhost.localdomain", "A.B@EXAMPLE.ORG", "x_y-z@sub.example.io",
        "ops@münchen.example",
    ],
    "phone": [
        "+49 30 901820", "+1 (415) 555-2671", "+44 20 7946 0018", "(415) 555-2671", "020 7946 0018",
        "030 901820", "+33 1 42 68 53 00", "+91 98765 43210", "+41 44 668 18 00",
        "+55 11 91234-5678",
    ],
    "iban": [
        "DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "GB82 WEST 1234 5698 7654 32",
        "FR14 2004 1010 0505 0001 3M02 606", "nl91abna0417164300", "CH93 0076 2011 6238 5295 7",
        "ES91 2100 0418 4502 0005 1332", "AT61 1904 3002 3457 3201",
    ],
    "card": [
        "4111 1111 1111 1111", "4111111111111111", "5500-0000-0000-0004", "378282246310005",
        "6011 1111 1111 1117", "3530 1113 3330 0000",
    ],
    "key": [
        "sk-proj-4f9aK2mZq81LrT6yVxB3", "sk_live_51H8xQ2eZvKYlo2C0", "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "xoxb-17653672481-19874698323-pdFZKVeTuE8",
        "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "hf_AbCdEfGhIjKlMnOpQrStUvWx",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
}  # fmt: skip
PLANTED = [(kind, text) for kind, texts in CANARIES.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), PLANTED)
def test_what_is_personal_is_masked(kind: str, text: str) -> None:
    masker = Masker()

    assert masker.text(f"Write to {text} please, before 5 pm.") == (
        f"Write to [{kind}] please, before 5 pm."
    )
    assert +masker.counts == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "Version 3.11.4 of 2026-11-01 costs 1,234.56 EUR, 20 % off.",
        "Order 4111111111111112 was paid on 01/02/2026 at 10:15:00.",
        "See billing/refunds.md#section-2, lines 120-140, p = 0.049.",
        "My password is forgotten and the token is missing.",
        "DE89 is a postal district; the ISBN is 978-3-16-148410-0.",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert Masker().text(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('API_KEY="abcd1234efgh"', 'API_KEY="[key]"'),
        ("x-api-key: 0123abcd4567", "x-api-key: [key]"),
        ("client_secret: 'a1b2c3d4'", "client_secret: '[key]'"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [key]"),
        ("https://ada:lovelace@db.example/x", "https://[key]@db.example/x"),
        ("ada%40example.com", "[email]"),
        ("ada [at] example.com", "[email]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [key]"),
        ("AccountKey=abc123+/defghij==;x", "AccountKey=[key];x"),
        ("my password is hunter2!", "my password is [key]"),
        ("Passwort: geheim", "Passwort: [key]"),
        ("4111.1111.1111.1111", "[card]"),
        ("4111 1111\n1111 1111", "[card]"),
        ("DE89 3704 0044 0532\n0130 00", "[iban]"),
    ],
)
def test_other_forms_of_secrets_are_masked(text: str, masked: str) -> None:
    assert Masker().text(text) == masked


def test_no_canary_is_in_any_line_that_is_returned(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"call of {text}" if place == 3 else f"{kind}-{n}",
            "question": f"What about number {n} {text if place == 0 else ''}?",
            "answer": f"So {n}: {text}." if place == 1 else "Fine.",
            "contexts": [{"path": f"{text}.md" if place == 3 else "a.md", "text": f"By {text}"}],
            "references": [{"path": f"{text}"}],
            "messages": [{"role": "user", "content": text}],
        }
        for n, (kind, text) in enumerate(PLANTED)
        for place in [n % 4]
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    found = collect([log], "jsonl", mask=True)
    written = json.dumps(found.lines, ensure_ascii=False)

    assert len(PLANTED) == 40
    assert len(found.lines) == 40
    assert [text for _, text in PLANTED if text in written] == []
    assert set(found.masked or {}) == set(CANARIES)


# ---

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
