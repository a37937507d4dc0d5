"""Cases of every shape that our own rules allow."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.project.documents import Document
from pytest_rageval.values.case import Case

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Zs", "Zl", "Zp")),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() == text and not set("[]:") & set(text))
LABELS = WORDS.filter(lambda text: not {".", ".."} & set(text.split("/")))
KEYS = LABELS | st.sampled_from(
    ["_id", "beir", "id", "metadata", "question", "rageval", "source_id", "text", "title", "vars"]
)
"""Keys of metadata, those that formats or we ourselves use among them."""
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
LINES = TEXTS.map(lambda text: " ".join(text.split())).filter(
    lambda text: bool(text.strip()) and text.isprintable()
)
PATHS = st.one_of(
    LABELS,
    st.sampled_from(["a b.md", "100%25.md", "c#.md", "x##y.md", "ä/ö.md", "q%zz", "a\tb.md"]),
)


def _anchors(**more: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"rel_path": PATHS, "grade": st.integers(1, 9)},
        optional={"heading_path": st.one_of(st.just("# A > ## B"), LINES), **more},
    )


def _distinct(golds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from pytest_rageval.metrics.matching import norm_heading, norm_path

    seen: dict[Any, dict[str, Any]] = {}
    for gold in golds:
        path = norm_path(gold["rel_path"])
        key = (path, norm_heading(gold.get("heading_path")) or ())
        if path:
            seen.setdefault(key, gold)
    return list(seen.values())


_FULL = st.lists(
    _anchors(snippets=st.lists(TEXTS, max_size=2), vault=st.one_of(st.none(), LABELS)), max_size=4
).map(_distinct)
_PLAIN = st.lists(_anchors(), max_size=4).map(_distinct)


def _case(line: dict[str, Any]) -> Case:
    if not line.get("gold_supports"):
        line.pop("required_support_groups", None)
    else:
        line["answerable"] = True
    return parse_case(json.loads(json.dumps(line)))


CASES: st.SearchStrategy[Case] = st.fixed_dictionaries(
    {"id": LABELS, "question": TEXTS},
    optional={
        "gold_supports": _FULL,
        "answerable": st.booleans(),
        "expected_answer": TEXTS,
        "expected_key_facts": st.lists(TEXTS, max_size=2),
        "required_support_groups": st.just([[0]]),
        "category": LABELS,
        "difficulty": st.sampled_from(["easy", "hard"]),
        "tags": st.lists(LABELS, max_size=2),
        "folders": st.lists(TEXTS, max_size=2),
        "k": st.integers(1, 20),
        "required": st.booleans(),
        "answer_rules": st.just([{"contains": "a", "ignore_case": True}, {"not_contains": "b"}]),
        "notes": st.text(st.characters(codec="utf-8"), max_size=10),
        "metadata": st.dictionaries(KEYS, st.one_of(st.integers(-9, 9), TEXTS), max_size=2),
    },
).map(_case)
"""Any case."""

TREC_CASES: st.SearchStrategy[Case] = st.fixed_dictionaries(
    {"id": LABELS, "question": LINES}, optional={"gold_supports": _PLAIN}
).map(_case)
"""Cases of which TREC files can say all."""

DOCUMENTS: st.SearchStrategy[list[Document]] = st.lists(
    st.builds(
        Document,
        rel_path=LABELS.map(lambda text: f"evals/set/{text}.md"),
        text=TEXTS | TEXTS.map("# {}\n\n".format),
        source_id=st.one_of(st.none(), LABELS),
        metadata=st.dictionaries(KEYS, TEXTS, max_size=1),
    ),
    max_size=3,
    unique_by=(lambda one: one.rel_path, lambda one: one.source_id or one.rel_path),
)


def unique(cases: list[Case]) -> list[Case]:
    """Leave out cases whose ids were there before."""
    return list({case.id: case for case in cases}.values())
