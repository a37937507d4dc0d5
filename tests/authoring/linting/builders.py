"""Cases with their places, for tests of the linter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase
from pytest_rageval.values.case import Anchor, Case


def anchor(rel_path: str, heading_path: str = "", *snippets: str) -> Anchor:
    return Anchor(rel_path=rel_path, heading_path=heading_path, snippets=snippets)


def placed(question: str, lineno: int = 1, file: str = "a.jsonl", **fields: Any) -> PlacedCase:
    case = Case(**{"id": f"c{lineno}", "question": question, **fields})
    return PlacedCase(case=case, file=file, lineno=lineno)


def numbered(questions: Iterable[str], file: str = "a.jsonl", **fields: Any) -> list[PlacedCase]:
    return [placed(question, n, file, **fields) for n, question in enumerate(questions, 1)]


def told(findings: Iterable[LintFinding]) -> list[tuple[str, str, int]]:
    return [(one.severity, one.rule, one.line) for one in findings]
