"""The page of all diagnoses: ``python -m docs.site.diagnoses`` writes it anew."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.values.diagnoses import DIAGNOSES, advice, sentence

PAGE = Path(__file__).resolve().parents[1] / "reference" / "diagnoses.md"
_HEAD = """# Diagnoses

What can go wrong with a target, by the code that `error` of a record has in `results.jsonl` beside
its kind and facts. Each has an example of the message, in which a part is left out whose fact is
not known, and what to do: after a run, as `rageval explain` says it, and in `rageval doctor`, whose
advice depends on the mapping of the reply where none is shown.

This page is made from the code by `python -m docs.site.diagnoses`.
"""


def diagnoses_page() -> str:
    """Return the page: each diagnosis with its examples and its advice."""
    lines = [_HEAD]
    for code, row in DIAGNOSES.items():
        lines += [f"## {code}", "", f"Kind `{row.kind}`.", "", "```text"]
        lines += [sentence(code, facts) for facts in row.examples]
        facts = row.examples[0]
        lines += ["```", "", f"- After a run: {advice(code, row.kind, facts, 'run')}"]
        if fix := advice(code, row.kind, facts, "doctor"):
            lines.append(f"- In doctor: {fix}")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(diagnoses_page(), encoding="utf-8")
