"""Records and their explanations in tests, made by hand or by Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.metrics.scoring import reported_by, score_settings
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.values import Explanation, MetricReason
from pytest_rageval.support.threads import at_once
from pytest_rageval.target.calling import answered
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import (
    AskResponse,
    AskResult,
    Citation,
    ErrorInfo,
    FolderSelection,
    RetrievedChunk,
)
from pytest_rageval.values.settings import Settings
from tests.build.scores import TIMEOUT, gold

S, T, U = "a.md | # S", "a.md | # S > ## T", "a.md | # U"


def recorded(
    of: Case, reply: AskResponse | None, *, error: ErrorInfo | None = None, **settings: Any
) -> CaseRecord:
    """Record of a case as the engine makes it, before storage cuts its texts."""
    result = AskResult(response=None, error=error, total_ms=1.0)
    if reply is not None:
        result = answered(reply, total_ms=1.0)
    located = LocatedCase(case=of, lineno=1)
    trial = CaseRepeat(located, "evals/set.jsonl", Settings(rootdir=".", judge="none", **settings))
    return at_once(record_of(trial, result))


def explained(
    of: Case, reply: AskResponse | None, *, error: ErrorInfo | None = None, **settings: Any
) -> Explanation:
    record = recorded(of, reply, error=error, **settings)
    return explain_record(record, score_settings(Settings(rootdir=".", judge="none", **settings)))


def metric(explanation: Explanation, key: str) -> MetricReason:
    return next(one for one in explanation.metrics if one.key == key)


PATHS = st.sampled_from(["a.md", "b.md", "n/a.md", "n/c.md", "A.md", "./a.md"])
HEADINGS = st.sampled_from(
    ["", "# S", "# S > ## T", "# S > ## U", "# s", "# V", "# S > ## T > ### W"]
)
SNIPPETS = st.lists(st.sampled_from(["alpha", "beta"]), max_size=2, unique=True).map(tuple)
ANCHORS = st.builds(
    lambda path, heading, grade, snippets: gold(
        f"{path} | {heading}", grade=grade, snippets=snippets
    ),
    PATHS,
    HEADINGS,
    st.integers(1, 3),
    SNIPPETS,
)
TEXTS = st.sampled_from([None, "alpha", "alpha beta", "gamma " * 60, "gamma " * 60 + "alpha"])
CITATIONS = st.builds(
    Citation,
    rel_path=st.one_of(st.none(), PATHS),
    heading_path=st.one_of(st.none(), HEADINGS),
)
SETTINGS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "k": st.integers(1, 6),
        "path_case": st.sampled_from(["sensitive", "insensitive"]),
        "snippets": st.sampled_from(["off", "off", "any", "all"]),
        "coarse_chunks": st.booleans(),
        "folder_mode": st.sampled_from([None, "off", "on", "on_with_fallback"]),
        "retrieval_only": st.sampled_from([False, False, True]),
    }
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    golds: list[Anchor] = draw(st.lists(ANCHORS, max_size=4, unique=True))
    refused, grouped = draw(st.booleans()), draw(st.booleans())
    groups = None
    if golds and grouped:
        index = st.integers(0, len(golds) - 1)
        group = st.lists(index, min_size=1, max_size=3).map(tuple)
        groups = tuple(draw(st.lists(group, min_size=1, max_size=3)))
    return Case(
        id="x",
        question="?",
        answerable=bool(golds) or not refused,
        gold_supports=tuple(golds),
        irrelevant_supports=tuple(draw(st.lists(ANCHORS, max_size=2))),
        required_support_groups=groups,
        recency_conflict_rule=draw(
            st.sampled_from([None, "cite_newer", "cite_both", "acknowledge_both"])
        ),
        k=draw(st.sampled_from([None, None, 1, 3])),
    )


@st.composite
def chunk_lists(draw: st.DrawFn) -> tuple[RetrievedChunk, ...]:
    n = draw(st.integers(0, 7))
    before = draw(st.one_of(st.none(), st.permutations(range(1, n + 1))))
    with_ids = draw(st.booleans())
    return tuple(
        RetrievedChunk(
            rel_path=draw(PATHS),
            heading_path=draw(st.one_of(st.none(), HEADINGS)),
            chunk_id=draw(st.sampled_from(["1", "2", "3"])) if with_ids else None,
            text=draw(TEXTS),
            rank_before_rerank=None if before is None else before[i],
        )
        for i in range(n)
    )


@st.composite
def replies(draw: st.DrawFn) -> AskResponse:
    folders = st.lists(st.sampled_from(["n", "", "m", "*"]), max_size=2).map(tuple)
    return AskResponse(
        answer=draw(st.sampled_from(["text", "text [1] and [9]", " "])),
        references=draw(st.one_of(st.none(), st.lists(CITATIONS, max_size=4).map(tuple))),
        abstained=draw(st.sampled_from([None, False, True])),
        retrieved_chunks=draw(st.one_of(st.none(), chunk_lists(), chunk_lists(), chunk_lists())),
        folder_selection=draw(
            st.one_of(
                st.none(),
                st.builds(
                    FolderSelection,
                    selected_folders=st.one_of(st.none(), folders),
                    fallback_used=st.sampled_from([None, False, True]),
                ),
            )
        ),
        indexing_coverage=draw(st.sampled_from([None, {"docs_processed": 0}])),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[CaseRecord, ScoreSettings]:
    """Return a record as it comes back from storage, and the settings it was scored with."""
    of, given_settings = draw(cases()), draw(SETTINGS)
    reply = draw(st.one_of(replies(), replies(), replies(), st.none()))
    record = recorded(of, reply, error=TIMEOUT if reply is None else None, **given_settings)
    settings = Settings(rootdir=".", judge="none", **given_settings)
    # As where a stored run is read: what no reply has at all decides nothing.
    return record, score_settings(settings, reported_by((record,)))
