from __future__ import annotations

import json
import tracemalloc

import pytest

from pytest_rageval.support.json_cost import json_cost


def taken(body: bytes) -> int:
    """Return the bytes that the text of a body and its values take."""
    tracemalloc.start()
    text = body.decode()
    kept = text, json.loads(text)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept
    return size


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 50_000 + b"[]]",
        b"[" + b"{}," * 50_000 + b"{}]",
        b"[" + b'"ab",' * 50_000 + b"1]",
        b"[" + b"1.5," * 50_000 + b"1]",
        b"{" + b",".join(b'"%x":0' % n for n in range(50_000)) + b"}",
        json.dumps([{"rel_path": f"{n}.md", "score": n / 7} for n in range(20_000)]).encode(),
        json.dumps({"answer": "It is so. " * 50_000}).encode(),
        json.dumps({"answer": "\u6708" * 200_000}, ensure_ascii=False).encode(),
        json.dumps({"answer": "\U0001f600" + "x" * 200_000}).encode(),
    ],
)
def test_the_estimate_is_half_to_ten_times_of_what_is_taken(body: bytes) -> None:
    assert taken(body) / 2 < json_cost(body) < taken(body) * 10
