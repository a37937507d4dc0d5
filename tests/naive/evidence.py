"""docs/site/metrics.toml and citation_support: facts and claims already looked up, counted."""

from __future__ import annotations

import re
from typing import Any

Values = dict[str, Any]
NA, ERROR = "not_applicable", "error"
Cell = float | str

SUPPORT = ("citation_support_precision", "citation_support_recall")


def whole(chunk: Values) -> bool:
    """Say whether a chunk came with its whole text."""
    return chunk.get("text") is not None and not chunk.get("text_truncated")


def facts_of(case: Values) -> list[tuple[str, float]]:
    """Return the key facts that are not blank with their weights: 1, or 0.5 of one not vital."""
    found = []
    for fact in case.get("expected_key_facts") or []:
        text, vital = (fact, True) if isinstance(fact, str) else (fact["text"], fact.get("vital"))
        if text.strip():
            found.append((text, 0.5 if vital is False else 1.0))
    return found


def vital_places(row: Values) -> list[bool]:
    """Say of each vital fact, or of each if none is vital, whether a chunk states it."""
    wanted = facts_of(row["case"])
    every = [bool(places) for places in row["evidence"]["facts"]]
    vital = [there for there, (_, weight) in zip(every, wanted, strict=True) if weight == 1.0]
    return vital or every


def facts(row: Values, cut: list[Values] | None, dead: bool) -> Cell:
    """Share of the facts that any chunk of the cut states."""
    wanted = facts_of(row["case"])
    if not row["case"].get("answerable", True) or not wanted:
        return NA
    if cut is None:
        return ERROR if dead else NA
    places = (row.get("evidence") or {}).get("facts")
    if not all(map(whole, cut)) or places is None or len(places) != len(wanted):
        return NA
    weights = [weight for _, weight in wanted]
    return sum(w for w, one in zip(weights, places, strict=True) if one) / sum(weights)


def leak(row: Values, irrelevant: list[bool | None] | None, dead: bool) -> Cell:
    """1 where any returned chunk is one that the user must not see."""
    case = row["case"]
    named = (case.get("metadata") or {}).get("user") is not None or "acl" in case.get("tags", [])
    if not named or not case.get("irrelevant_supports"):
        return NA
    if irrelevant is None:
        return ERROR if dead else NA
    if True in irrelevant:
        return 1.0
    return NA if None in irrelevant else 0.0


def rules(case: Values, answer: str, failed: bool) -> Cell:
    """Whether an answer keeps every rule, by Python's own engine."""
    if not case.get("answer_rules"):
        return NA
    return ERROR if failed else float(all(kept(rule, answer) for rule in case["answer_rules"]))


def kept(rule: Values, answer: str) -> bool:
    """Apply one rule."""
    pattern = rule.get("matches")
    fold = rule.get("ignore_case", pattern is None)
    blanks = rule.get("ignore_whitespace", pattern is None)
    text, wanted = answer, str(rule.get("contains", rule.get("not_contains")))
    if blanks:
        text, wanted = re.sub(r"\s+", " ", text), re.sub(r"\s+", " ", wanted)
    if pattern is not None:
        return re.search(pattern, text, re.IGNORECASE if fold else 0) is not None
    if fold:
        text, wanted = text.casefold(), wanted.casefold()
    return (wanted in text) is ("contains" in rule)


def tokens(cut: list[Values] | None, dead: bool) -> list[int] | str:
    """Tokens of each chunk of the cut, all reported or all a fourth of the bytes."""
    if cut is None:
        return ERROR if dead else NA
    counts = [one.get("token_count") for one in cut]
    if None not in counts:
        return [int(n or 0) for n in counts]
    if not all(map(whole, cut)):
        return NA
    return [(len(one["text"].encode()) + 3) // 4 for one in cut]


def utilization(row: Values, recall: Cell, failed: bool) -> Cell:
    """Share of the facts in the context that the answer states."""
    wanted = facts_of(row["case"])
    if row.get("judge") is None or not row["case"].get("answerable", True) or not wanted:
        return NA
    if failed:
        return ERROR
    said = (row.get("evidence") or {}).get("facts_stated")
    if isinstance(recall, str) or recall == 0 or said is None or len(said) != len(wanted):
        return NA
    there = [bool(places) for places in row["evidence"]["facts"]]
    weights = [weight for _, weight in wanted]
    held = sum(w for w, one in zip(weights, there, strict=True) if one)
    used = sum(w for w, one, other in zip(weights, there, said, strict=True) if one and other)
    return used / held


def support(
    row: Values, cut: list[Values] | None, failed: bool, abstained: object
) -> dict[str, Cell]:
    """Count pairs of claim and citation, and claims."""
    cells: dict[str, Cell] = dict.fromkeys(SUPPORT, NA)
    if row.get("judge") is None or not row["case"].get("answerable", True):
        return cells
    if failed:
        return dict.fromkeys(SUPPORT, ERROR)
    claims: list[Values] | None = (row.get("evidence") or {}).get("claims")
    if abstained or cut is None or not all(map(whole, cut)) or not claims:
        return cells
    pairs = [one["supports"] for claim in claims for one in claim["citations"]]
    if None in pairs:
        return cells
    if pairs:
        cells["citation_support_precision"] = pairs.count(True) / len(pairs)
    if pairs or (row.get("settings") or {}).get("citations_in_text"):
        held = [claim for claim in claims if True in [o["supports"] for o in claim["citations"]]]
        cells["citation_support_recall"] = len(held) / len(claims)
    return cells
