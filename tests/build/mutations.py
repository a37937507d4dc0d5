"""Damage to the content of a file; the same content and seed give the same damage. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any, Final

ODD_VALUES: Final = (
    "null", "true", "0", "-1", "2.5", "-0.0", "1e308", "1e400", "-1e400", "NaN", "Infinity",
    "9223372036854775808", "1" + "0" * 5000, '""', '"x"', '" "', "[]", "{}", "[[]]", '{"a": {}}',
    "[null]", '["x"]', "[1]", '"../../x"', '"2026-13-45T99:00"', '"\\ud800"', '"\\u0000"',
    '"\\u001b[31m\\u009b1m"', '"\\u202e\\u2066"', '"\x1b[2J\x9b"', "[" * 3000 + "]" * 3000,
    "[" * 200_000 + "]" * 200_000, '{"a":' * 2000 + "1" + "}" * 2000, '"' + "a\\n" * 60_000 + '"',
)  # fmt: skip
"""Values of JSON, most of which are also of TOML or YAML, that few places are made for."""
ODD_BYTES: Final = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\r",
    b"\n", b"\t", b"\x1b[31m", b"\x9b31m", "\x9b1m\u202e\u2066\u2028".encode(), b'"', b"'", b"\\",
    b"{", b"}", b"[", b"]", b",", b":", b"=", b"#", b"&a", b"*a", b"<", b"\\ud800", b"1e400",
    b"9" * 5000, b"[" * 100_000, b'{"a":' * 50_000, b"(" * 5000, b"x" * 300_000,
)  # fmt: skip
"""Bytes that are put between those of a file."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[\w.+-]+')
_ENCODINGS: Final = ("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "cp037")
_LONG: Final = 1 << 20
"""Most bytes of a mutant, so that a few mutations stay quick to read."""

_Damage = Callable[[bytes, Random], bytes]


def mutated(data: bytes, seed: int) -> bytes:
    """Return the content of a file with one to three kinds of damage."""
    dice = Random(seed)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        data = dice.choice(_DAMAGES)(data, dice)[:_LONG]
    return data


def type_swaps(data: bytes, at_most: int) -> Iterator[bytes]:
    """Yield a JSON document with a value of another kind in the place of one of its values."""
    document = json.loads(data)
    swaps = list(product(_paths(document), ODD_VALUES))
    for path, odd in Random(0).sample(swaps, min(at_most, len(swaps))):
        yield _with(document, path, odd)


# --- bytes -------------------------------------------------------------------------------------


def _truncate(data: bytes, dice: Random) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _flip(data: bytes, dice: Random) -> bytes:
    found = bytearray(data)
    for _ in range(dice.randint(1, 8) if found else 0):
        found[dice.randrange(len(found))] ^= 1 << dice.randrange(8)
    return bytes(found)


def _span(data: bytes, dice: Random) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + dice.choice((1, 5, 50, 500, 5000)))


def _cut(data: bytes, dice: Random) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + data[end:]


def _splice(data: bytes, dice: Random) -> bytes:
    start, end = _span(data, dice)
    at = dice.randrange(len(data) + 1)
    return data[:at] + data[start:end] + data[at:]


def _insert(data: bytes, dice: Random) -> bytes:
    at = dice.choice((0, len(data), dice.randrange(len(data) + 1)))
    return data[:at] + dice.choice(ODD_BYTES) + data[at:]


def _encode(data: bytes, dice: Random) -> bytes:
    start, end = dice.choice(((0, len(data)), _span(data, dice)))
    text = data[start:end].decode("utf-8", "replace")
    return data[:start] + text.encode(dice.choice(_ENCODINGS), "replace") + data[end:]


def _lines(data: bytes, dice: Random) -> bytes:
    """Repeat, remove or swap lines, or end them otherwise."""
    lines = data.split(b"\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    match dice.randrange(5):
        case 0:
            lines.insert(second, lines[first])
        case 1:
            del lines[first]
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            return b"\r".join(lines)
        case _:
            return b"\r\n".join(lines)
    return b"\n".join(lines)


def _whole(data: bytes, dice: Random) -> bytes:
    return dice.choice((b"", data + data, b"\n" + data, bytes(len(data)), b"null", b"[]", b"{}\n"))


# --- values ------------------------------------------------------------------------------------


def _swap_token(data: bytes, dice: Random) -> bytes:
    """Put an odd value, or one from elsewhere in the file, in the place of a word or number."""
    tokens = list(_TOKEN.finditer(data))
    if not tokens:
        return data
    place = dice.choice(tokens)
    odd = dice.choice((dice.choice(ODD_VALUES).encode(), dice.choice(tokens)[0]))
    return data[: place.start()] + odd + data[place.end() :]


def _change_json(data: bytes, dice: Random) -> bytes:
    """Change a value, a key or an item of a JSON document, or of one of its lines."""
    lines = data.split(b"\n")
    for at in (None, *dice.sample(range(len(lines)), min(3, len(lines)))):
        try:
            document = json.loads(data if at is None else lines[at])
        except (ValueError, RecursionError):
            continue
        paths = list(_paths(document))
        changed = _changed(document, dice.choice(paths), dice)
        if at is None:
            return changed
        return b"\n".join((*lines[:at], changed, *lines[at + 1 :]))
    return _swap_token(data, dice)


def _changed(document: Any, path: tuple[str | int, ...], dice: Random) -> bytes:
    value = _at(document, path)
    odd = dice.choice(ODD_VALUES)
    match dice.randrange(6):
        case 0 if isinstance(value, dict) and value:  # a key twice
            key = json.dumps(dice.choice(list(value)))
            return _with(document, path, f"{json.dumps(value)[:-1]}, {key}: {odd}}}")
        case 1 if isinstance(value, dict):  # a key that nothing expects
            key = dice.choice(("x", "", "\ud800", "\x1b[31m", "a\x00", "\u202e", "x" * 70_000))
            return _with(document, path, json.dumps({key: None, **value}))
        case 2 if isinstance(value, dict) and value:  # a key too few
            gone = dice.choice(list(value))
            return _with(document, path, json.dumps({k: v for k, v in value.items() if k != gone}))
        case 3 if isinstance(value, list) and value:
            many = value * dice.choice((2, 50))
            return _with(document, path, json.dumps(many))
    return _with(document, path, odd)


def _paths(document: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value."""
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _paths(value, (*path, key))
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from _paths(value, (*path, place))


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def _with(document: Any, path: tuple[str | int, ...], text: str) -> bytes:
    """Return a document with JSON, or what looks like it, in the place of one value."""
    if not path:
        return text.encode("utf-8", "surrogatepass")
    first, *rest = path
    inner = _with(document[first], tuple(rest), text)
    items = document.items() if isinstance(document, dict) else enumerate(document)
    parts = [
        (json.dumps(key).encode() + b": " if isinstance(document, dict) else b"")
        + (inner if key == first else json.dumps(value).encode())
        for key, value in items
    ]
    left, right = (b"{", b"}") if isinstance(document, dict) else (b"[", b"]")
    return left + b", ".join(parts) + right


_DAMAGES: Final[tuple[_Damage, ...]] = (
    _truncate, _flip, _cut, _splice, _insert, _insert, _encode, _lines, _whole, _swap_token,
    _swap_token, _change_json, _change_json, _change_json, _change_json,
)  # fmt: skip
