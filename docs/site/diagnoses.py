"""The page of all diagnoses: ``python -m docs.site.diagnoses`` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_rageval.values.diagnoses.input import INPUT, input_sentence
from pytest_rageval.values.diagnoses.judge import JUDGE, judge_advice, judge_sentence
from pytest_rageval.values.diagnoses.table import Diagnosis
from pytest_rageval.values.diagnoses.target import TARGET, target_advice, target_sentence

PAGE = Path(__file__).resolve().parents[1] / "reference" / "diagnoses.md"
_HEAD = """# Diagnoses

What can go wrong, by its code: with a [target](#target), with a [judge](#judge), and with what you
write, in [files, settings and flags](#input). Each has an example of the message, in which a part
is left out whose fact is not known, and what to do: after a run, as `rageval explain` says it, and
in `rageval doctor`, whose advice depends on the mapping of the reply where none is shown. Under
`pytest -v` and `rageval -v COMMAND` each message ends with its code: `[target.timeout_read]`.

This page is made from the code by `python -m docs.site.diagnoses`.

## Target

`error` of a record has the code in `results.jsonl` beside its kind and facts. More about
[targets](../target.md).
"""
_JUDGE = """## Judge

`failure` of a judgement in `results.jsonl` has the code beside its kind and facts. More about
[judges](../judges.md).
"""
_INPUT = """## Input

`rageval check --json` has the code of each fault of a case file beside its facts. The message names
the file, the line and the field, before what is shown here.
"""


def diagnoses_page() -> str:
    """Return the page: each diagnosis with its examples and its advice."""
    return "\n".join([_HEAD, *_target(), _JUDGE, *_judge(), _INPUT, *_input()])


def _target() -> Iterator[str]:
    for code, row in TARGET.items():
        yield from _row(f"target.{code}", row, map(_said(target_sentence, code), row.examples))
        facts = row.examples[0]
        yield f"- After a run: {target_advice(code, row.kind, facts, 'run')}"
        if fix := target_advice(code, row.kind, facts, "doctor"):
            yield f"- In doctor: {fix}"
        yield ""


def _judge() -> Iterator[str]:
    for code, row in JUDGE.items():
        yield from _row(f"judge.{code}", row, map(_said(judge_sentence, code), row.examples))
        yield f"- In doctor: {judge_advice(code, row.kind, row.examples[0], 'doctor')}"
        yield ""


def _input() -> Iterator[str]:
    for code, row in INPUT.items():
        yield from _row(f"input.{code}", row, map(_said(input_sentence, code), row.examples))


def _said(sentence: Any, code: str) -> Any:
    return lambda facts: sentence(code, facts)


def _row(name: str, row: Diagnosis[Any], examples: Iterator[str]) -> Iterator[str]:
    yield from (f"### {name}", "")
    if row.kind != "input":
        yield from (f"Kind `{row.kind}`.", "")
    yield from ("```text", *examples, "```", "")


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(diagnoses_page(), encoding="utf-8")
