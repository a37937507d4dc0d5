"""Lines without a fault are accepted as pydantic accepts them, without pydantic."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from pytest_rageval.project.case_fields import CASE_LINE, AnchorLine, CaseLine, RuleLine
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.project.case_rules import find_faults
from pytest_rageval.support.jsonl import ObjectLine
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import DatasetError, Fault
from tests.build.cases import FULL

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**53, 2**53 + 1, 10**30, 1.0, 1.5),
    *(
        "",
        " ",
        "\x1c",
        "\x85",
        "\u180e",
        "a b",
        "a\n",
        "a::b",
        "a:",
        ":a:b",
        "..",
        "a/../b",
        "\u200b",
    ),
    *("x", "easy", "generated", "newer_source_wins", "(", "(?=a)"),
    *([], [""], [" "], ["x"], ["a b"], [1], [0], [None], [[]], [[0]], [[0], []], [[-1]], [[7]]),
    *([{"rel_path": "a.md"}], [{"rel_path": "/"}], [{"rel_path": "a.md", "odd": 1}], [{}]),
    *([{"contains": odd}] for odd in ("x", " ", "", None, 1)),
    *([{"contains": "x", "matches": None}], [{"matches": "("}], [{"matches": "a", "odd": 1}]),
    *({}, {"a": 1}, {"a": [1, {"b": None}]}),
)


def lines() -> Iterator[dict[str, Any]]:
    """Yield lines with an odd value in one of their fields."""
    full = {**deepcopy(dict(FULL)), "answer_rules": [{"contains": "x", "ignore_case": True}]}
    fields = [((), CaseLine), (("gold_supports", 0), AnchorLine), (("answer_rules", 0), RuleLine)]
    for path, kind in fields:
        for name in (*kind.__annotations__, "odd"):
            for odd in ODD:
                line = deepcopy(full)
                part: Any = line
                for step in path:
                    part = part[step]
                part[name] = odd
                yield line


def strictly(line: dict[str, Any]) -> Case | None:
    try:
        valid = CASE_LINE.validate_python(line)
    except ValidationError:
        return None
    return None if any(find_faults(valid)) else msgspec.convert(valid, Case)


def test_an_odd_value_is_accepted_or_refused_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    # To describe the faults takes long, and is tested elsewhere.
    monkeypatch.setattr(ObjectLine, "_faults", lambda *_: iter([Fault(message="refused")]))
    refused = 0
    for line in lines():
        wanted = strictly(deepcopy(line))
        if wanted is None:
            refused += 1
            with pytest.raises(DatasetError):
                parse_case(line)
        else:
            assert repr(parse_case(line)) == repr(wanted)
    assert refused > 1000


def test_a_file_without_faults_is_read_without_pydantic(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(FULL) + "\n", encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; "
        "from pytest_rageval.project.case_reader import load_cases; "
        "import pytest_rageval.target.contract; "
        f"print(len(load_cases(Path({str(file)!r})).cases), 'pydantic' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("1 False\n", "")
