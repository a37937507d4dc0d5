"""Odd cases, odd replies and odd settings, each made from one seed.

Hypothesis draws the seed alone: left to draw every part, it makes mostly short lists in which
nothing matches. Places come from a few spellings, so that matches, near misses and collisions are
common. What a case file refuses (equal golds, empty groups, golds of the unanswerable) is not made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from pytest_rageval.engine.case import CaseRepeat
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import norm_heading, norm_path
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.values.case import Anchor, AnswerRule, Case, RecencyRule
from pytest_rageval.values.record import (
    CaseRecord,
    CheckedClaim,
    CitationCheck,
    Evidence,
    ScoreSettings,
)
from pytest_rageval.values.settings import Settings
from tests.build.records import measure

_T = TypeVar("_T")
Payload = dict[str, Any]

_PATHS = (
    *("a.md", "a.md", "./a.md", "docs/b.md", "docs\\b.md", "docs/b.md"),
    *("A.md", "caf\u00e9.md", "cafe%CC%81.md", "../x"),
)
_HEADINGS = (
    *("", "", "# S", "# S", "s>## T", "# S > ## T", "# S > ## T > ### U", "# S > ## Other"),
    *(
        "# Stra\u00dfe",
        "STRASSE",
        "# \u0130stanbul > ## \u6982\u8981",
        "# C# ##",
        ">",
        "#",
        "\u200b",
    ),
)
_TEXTS = ("", " \n", "set MODEL", "we set\u00a0model, redis", "stra\u00dfe", "[1] and [99]")
_SNIPPETS: tuple[tuple[str, ...], ...] = ((), (), ("set model",), ("redis", "\u00df"))
_NUMBERS = (0.5, 1, -1.0, 0.0, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf, None)
_TIMES = (12.5, 0, math.nan, math.inf, None, "3", 10**400)
_NO_NUMBERS = ("0.25", "nan", "", True, 10**400)
_COUNTS = (0, 1, 3, 0.5, 1e308, math.nan, math.inf, None, "3", 10**400)
_WORDS = ("factual", "multi_hop", "\u00fc", "a")
_FOLDERS = ("", "docs", "docs/", "*", "..", "doc")
_RULES: tuple[RecencyRule | None, ...] = (None, "cite_newer", "acknowledge_both", "cite_both")
_ANSWERS = (
    *("text", "Yes (File: a.md, Section: S).", "[File: docs/b.md, Section: ## T] [2]", "[1]"),
    " \n",
)
_COUNTED = {"five.composite", "context_utilization"}
"""Metrics that are counted from verdicts, and of which no verdict tells."""
JUDGED = [key for key, info in BUILT_IN.cases.items() if info.judged and key not in _COUNTED]


def seeded(make: Callable[[Random], _T]) -> st.SearchStrategy[_T]:
    """Draw what ``make`` makes of a seed."""
    return st.integers(0, 2**48).map(lambda seed: make(Random(seed)))


def chance(dice: Random, probability: float) -> bool:
    """True that often."""
    return dice.random() < probability


def make_case(dice: Random, *, case_id: str = "x", golds: bool = False) -> Case:
    """Any case that a file may hold; ``golds``: an answerable one with at least one gold."""
    places: dict[object, Anchor] = {}
    for _ in range(dice.randint(1, 6)):
        anchor = _anchor(dice)
        places[norm_path(anchor.rel_path), norm_heading(anchor.heading_path)] = anchor
    anchors = tuple(places.values())
    kind = "golds" if golds else dice.choice(("golds", "golds", "golds", "none", "unanswerable"))
    split = dice.randint(1, len(anchors)) if kind == "golds" else 0
    groups = None
    if split and chance(dice, 0.5):
        groups = tuple(
            tuple(dice.randrange(split) for _ in range(dice.randint(1, 3)))
            for _ in range(dice.randint(1, 3))
        )
    return Case(
        id=case_id,
        question="?",
        answerable=kind != "unanswerable",
        expected_key_facts=dice.choice(((), ("fact",))),
        gold_supports=anchors[:split],
        irrelevant_supports=anchors[split:],
        required_support_groups=groups,
        recency_conflict_rule=dice.choice(_RULES) if split > 1 else None,
        category=dice.choice(_WORDS),
        difficulty=dice.choice((None, "easy", "hard")),
        tags=tuple(dice.choices(_WORDS, k=dice.randint(0, 2))),
        k=dice.choice((None, None, dice.randint(1, 9))),
        answer_rules=dice.choice(((), (AnswerRule(contains="e"),), (AnswerRule(matches="[A-Z]"),))),
        metadata={"user": "ana"} if chance(dice, 0.4) else {},
    )


def _anchor(dice: Random) -> Anchor:
    return Anchor(
        rel_path=dice.choice(_PATHS),
        heading_path=dice.choice(_HEADINGS),
        snippets=dice.choice(_SNIPPETS),
        grade=dice.randint(1, 4),
        vault=dice.choice((None, None, None, "v")),
    )


def make_payload(dice: Random) -> Payload:
    """A reply in the shape of the contract, as a careless target would send it."""
    vectors = chance(dice, 0.3)
    return {
        "answer": dice.choice(_ANSWERS),
        "references": dice.choice((None, [_source(dice) for _ in range(dice.randint(0, 3))])),
        "abstained": dice.choice((None, False, False, True)),
        "debug": {
            "retrieved_chunks": _chunks(dice, vectors=vectors) if chance(dice, 0.9) else None,
            "folder_selection": {
                "selected_folders": dice.choice((None, dice.sample(_FOLDERS, 2), [])),
                "fallback_used": dice.choice((None, False, True)),
            },
            "query_embedding": _vector(dice) if vectors else None,
            "latency": {"retrieval_ms": dice.choice(_TIMES)},
            "indexing_coverage": {
                name: dice.choice(_COUNTS)
                for name in ("docs_processed", "docs_with_0_chunks", "chunks_attempted")
                if chance(dice, 0.3)
            },
        },
    }


def _chunks(dice: Random, *, vectors: bool) -> list[Payload]:
    rows = [_chunk(dice) for _ in range(dice.choice((0, 1, 3, 5, 8)))]
    if chance(dice, 0.1):
        rows = [{**row, "heading_path": None} for row in rows]
    if chance(dice, 0.5):
        rows = [{**row, "text": dice.choice(_TEXTS)} for row in rows]
    ranks = dice.choice((None, None, "rank", "rank_before_rerank"))
    for row in rows:
        if vectors:
            row["embedding"] = _vector(dice)
        if ranks:
            row[ranks] = dice.randint(0, 5)
    return rows


def _chunk(dice: Random) -> Payload:
    optional = {
        "heading_path": dice.choice((None, *_HEADINGS)),
        "chunk_id": dice.choice((None, "", "1", "2")),
        "text": dice.choice((*_TEXTS, *_TEXTS, None)),
        "score_vector": dice.choice(_NUMBERS + _NO_NUMBERS),
        "score_final": dice.choice(_NUMBERS),
        "token_count": dice.choice((0, 2, 3, 9)),
    }
    found = {name: value for name, value in optional.items() if chance(dice, 0.9)}
    return {"rel_path": dice.choice(_PATHS), **found}


def _source(dice: Random) -> Payload:
    return {"rel_path": dice.choice(_PATHS), "heading_path": dice.choice((None, *_HEADINGS))}


def _vector(dice: Random) -> list[Any]:
    odd = chance(dice, 0.02)
    return [dice.choice(_NUMBERS) if odd else dice.choice((0.0, 0.5, -1e200, 3)) for _ in "xy"]


def make_verdicts(dice: Random) -> Verdicts:
    """Draw a judge's verdict, with scores that may be missing or outside their scale."""
    odd = (None, math.nan, math.inf, -0.1, 5.0, 5.1, 1e308)
    pool = dice.choice(((1.0,), (0.0, 0.7, 1), odd))
    scores = {key: dice.choice(pool) for key in JUDGED}
    return Verdicts(
        abstained=dice.choice((None, False, True)),
        acknowledges_conflict=dice.choice((None, False, True)),
        scores=dice.choice((scores, scores, scores, {})),
        judged_keys=frozenset(dice.choice(((), JUDGED))),
        not_applicable=dice.choice(({}, {"claim_support_rate": "no claims"})),
        evidence=make_evidence(dice) if chance(dice, 0.9) else None,
    )


def make_evidence(dice: Random) -> Evidence:
    """Draw what was looked up in the passages, of the one fact of a case or of another number."""
    checks = (CitationCheck(), CitationCheck(ranks=(1,), supports=True))
    odd = CitationCheck(ranks=(9,), supports=None)
    claims = [
        CheckedClaim(text="So it is.", citations=tuple(dice.choices(checks, k=dice.randint(0, 3))))
        for _ in range(dice.randint(0, 3))
    ]
    if chance(dice, 0.1):
        claims.append(CheckedClaim(text="So.", citations=(odd,)))
    return Evidence(
        facts=dice.choice((None, (), ((),), ((1, 2),), ((1,),))),
        facts_stated=dice.choice((None, (), (False,), (True,))),
        claims=dice.choice((None, tuple(claims), tuple(claims))),
    )


def make_settings(dice: Random) -> ScoreSettings:
    """All settings of scoring."""
    k = dice.randint(1, 9)
    return ScoreSettings(
        k=k,
        path_case=dice.choice(("sensitive", "insensitive")),
        snippets=dice.choice(("off", "any", "all")),
        coarse_chunks=chance(dice, 0.5),
        headings_reported=chance(dice, 0.9),
        citations_reported=k % 2 == 0,
        citations_in_text=k % 3 == 0,
        token_budget=dice.choice((None, 3, 6)),
        folder_mode=dice.choice((None, "off", "on", "on_with_fallback")),
        retrieval_only=chance(dice, 0.1),
        judge_configured=chance(dice, 0.8),
    )


def make_run(dice: Random, *, most: int = 4) -> list[CaseRecord]:
    """Records of a few cases asked of a careless target, some of them twice."""
    setup = Settings(rootdir=".", k=dice.randint(1, 5), snippets=dice.choice(("off", "any")))
    found = []
    for number in range(dice.randint(0, most)):
        located = LocatedCase(case=make_case(dice, case_id=f"c{number}"), lineno=number + 1)
        for repeat in range(dice.choice((1, 1, 2))):
            client = _client(dice)
            record = measure(
                CaseRepeat(located, "evals/set.jsonl", setup), client, clock=lambda: 0.0
            )
            found.append(replace(record, repeat=repeat))
    return found


def _client(dice: Random) -> Callable[[object], object]:
    payload = make_payload(dice) if chance(dice, 0.8) else None

    def client(_: object) -> object:
        if payload is None:
            raise TimeoutError
        return payload

    return client
