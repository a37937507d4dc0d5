"""A project with stored runs, labels, calibrations and caches, as the content of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.cli import main as cli
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.runs.reviews import append_review
from pytest_rageval.values.run import AnswerReview
from tests.build.files import write_lines
from tests.build.hostile_judge import HostileJudge, rating
from tests.hostile.readers import CASE, ENTRY, REPLY, THRESHOLDS, dumped

PYPROJECT: Final = """[tool.pytest.ini_options]
[tool.rageval]
k = 3
[tool.rageval.target]
vault = "vault"
[tool.rageval.judge]
retries = 0
timeout = 1
"""
PLAIN: Final = {"answerable": True, "gold_supports": [{"rel_path": "a.md", "heading_path": "# A"}]}
CASES: Final = (
    CASE,
    {"id": "b", "question": "who pays?", "expected_key_facts": ["the club"], **PLAIN},
    {"id": "c", "question": "why not?", "answerable": False},
)
NOTE: Final = {
    "file": "evals/set.jsonl",
    "case_id": "a",
    "repeat": 0,
    "text": "see",
    "author": "me",
}
SECTIONS: Final = [
    {"title": "Bars", "columns": ["", "s"], "rows": [["a", 1.5], ["b", 2]], "bars": True},
    {"title": "Table", "columns": ["c", "d"], "rows": [["x", 0.5], [None, 3]]},
    {"title": "Broken", "error": "conftest.py:3: ValueError"},
]
LABELS: Final = [
    {"id": f"l{n}", "question": "q", "answer": text, "label": label, "source": "One. Two."}
    for n, (text, label) in enumerate(
        [
            ("One.", "grounded"),
            ("Two.", "grounded"),
            ("Six.", "not_grounded"),
            ("Ten.", "not_grounded"),
        ]
    )
]


MODEL: Final = ("--judge", "m-2024-01-01", "--judge-base-url")


def make_project(folder: Path) -> str:
    """Write the project into a folder, the working one.

    Returns:
        URL of the model that judged a run; it is closed by now.
    """
    (folder / "vault").mkdir()
    (folder / "vault" / "a.md").write_text("# A\n\nThe club pays.\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    write_lines(folder / "evals" / "set.jsonl", *CASES)
    write_lines(folder / "evals" / "more.jsonl", {**CASES[1], "id": "d"})
    for name in ("set", "more"):
        ids = ("d",) if name == "more" else ("a", "b", "c")
        replies = [{"id": i, "response": {**REPLY, "answer": f"The club, {i} [1]."}} for i in ids]
        write_lines(folder / f"{name}.jsonl", *replies)
    judged = ("--judge", "offline", "--no-report")
    for run_id, name in (("one", "set"), ("two", "set"), ("more", "more")):
        score = ["score", f"evals/{name}.jsonl", f"{name}.jsonl", "--save", run_id, *judged]
        assert cli.run(score) == 0
    for run_id in ("one", "two", "more"):
        run = folder / "evals" / "results" / run_id
        (run / "gate.json").write_bytes(dumped(GATE))
        if run_id != "one":
            config = json.loads((run / "config.json").read_bytes())
            (run / "config.json").write_bytes(dumped(config | {"set": SET}))
    assert cli.run(["runs", "tag", "one", "main"]) == 0
    assert cli.run(["runs", "approve", "one", "--because", "as planned"]) == 0
    one = folder / "evals" / "results" / "one"
    (one / "notes.json").write_bytes(dumped({"notes": [NOTE]}))
    said = AnswerReview(
        file="evals/set.jsonl",
        case_id="a",
        answer_hash=text_hash("The club, a [1]."),
        verdict="fail",
        note="n",
        category="c",
    )
    append_review(one, "me", said)
    (one / "sections.json").write_bytes(dumped({"sections": SECTIONS}))
    write_lines(folder / "labels.jsonl", *LABELS)
    assert cli.run(["calibrate", "labels.jsonl", "--rubric", "groundedness", "--save"]) == 0
    for name in ("me", "you"):
        write_lines(folder / "evals" / "labels" / f"{name}.jsonl", {**ENTRY, "file": "set.jsonl"})
    (folder / "thresholds.toml").write_text(THRESHOLDS, encoding="utf-8")
    with HostileJudge(lambda asked: rating(4.0)) as model:
        assert cli.run(["judge", "one", *MODEL, model.url]) == 0
    assert cli.run(["runs", "sync"]) == 0
    return model.url


SET: Final = {
    "hash": "0", "n_cases": 4, "files": ["evals/more.jsonl", "evals/set.jsonl"], "n_asked": 4,
    "by_category": {"c": 1, "general": 3}, "by_tag": {"t": 1},
}  # fmt: skip
"""The set of which the runs are parts, as sessions of pytest describe it."""


def contents(folder: Path) -> Mapping[str, bytes]:
    """Return the content of every file below a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


GATE: Final = {
    "schema_version": 1, "verdict": "pass", "sentence": "PASS 1 check", "complete": True,
    "n_expected": 3, "n_reported": 3,
    "baseline": {
        "name": "main", "run_id": "one", "problem": None, "n_paired": 3, "n_changed": 0,
        "n_only_base": 0, "n_only_new": 0,
        "choice": {
            "code": "main", "run_id": "one", "days": 3, "commits": 2, "passed_over": "failed",
            "facts": {"main": "main", "commit": "abc", "why": "failed", "run": "one"},
            "remarks": [{"code": "old", "facts": {"days": 14, "commits": 50, "main": "main"}}],
        },
    },
    "checks": [
        {
            "name": "mrr", "status": "pass", "message": "1.000 is at least min 0.700", "n": 2,
            "estimate": 1.0, "low": 0.1, "high": 1.0, "proof": "unproven", "mde": 4.9,
            "small_n": True, "missed_cases": [],
            "check": {
                "metric": "mrr", "kind": "min", "limit": 0.7, "table": "overall", "group": None,
                "severity": "warn", "decide": "estimate", "min_n": 20, "on_small_n": "warn",
                "line": 8, "implicit": False, "beside_min": False,
            },
        }
    ],
}  # fmt: skip
