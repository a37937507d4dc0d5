"""docs/site/metrics.toml: every deterministic metric of one case, and its outcome."""

from __future__ import annotations

from pytest_rageval.metrics.matching import PathCase, norm_path, norm_text
from pytest_rageval.metrics.retrieval import RANKING_MEASURES, Ranking
from tests.naive import evidence
from tests.naive.citations import cited, in_context, points_into
from tests.naive.matching import (
    Values,
    chunk_segments,
    same_document,
)
from tests.naive.rules import comparable, decide, missing_text

NA = "not_applicable"
ERROR = "error"
Cell = float | str
"""A number, or one of the two other states of a metric."""

KERNELS = RANKING_MEASURES
"""The package's own formulas, which trec_eval and ir_measures judge."""
UNITS = tuple(KERNELS)
ANCHOR_LEVEL = (*UNITS, "recall_all_at_k", "group_recall_at_k", "specificity_accuracy")
DOCUMENT_LEVEL = tuple(f"doc_{key}" for key in UNITS)
SCOPE = ("scope_miss_rate", "scope_selection_miss_rate", "scope_any_excluded_rate")
RETRIEVAL = (*ANCHOR_LEVEL, *DOCUMENT_LEVEL, "negative_accuracy")
CONTEXT = (
    "leak_rate",
    "answer_rules_pass_rate",
    "context_tokens",
    "fact_recall_in_context",
    "context_utilization",
    *evidence.SUPPORT,
    "sufficient_context",
    "answered_without_evidence",
    "refused_with_evidence",
)
ATTRIBUTION = ("attribution_hit_rate", "attribution_recall", "attribution_precision")
ANSWER_SIDE = (
    *ATTRIBUTION,
    "citation_in_context_rate",
    "recency_conflict_accuracy",
    "abstention_accuracy",
    "hallucination_rate_unanswerable",
    "over_abstention_rate",
)


class Row:
    """One row of op ``score``, with the few things every metric asks of it."""

    def __init__(self, row: Values) -> None:
        self.case: Values = row["case"]
        self.response: Values = row.get("response") or {}
        self.settings: Values = row.get("settings") or {}
        self.k: int = self.case.get("k") or row.get("k") or 5
        self.folder_mode = row.get("folder_mode")
        self.retrieval_only = bool(row.get("retrieval_only"))
        self.judge: Values | None = row.get("judge")
        self.answerable: bool = self.case.get("answerable", True)
        self.golds: list[Values] = self.case.get("gold_supports") or []
        self.junk: list[Values] = self.case.get("irrelevant_supports") or []
        self.debug: Values = self.response.get("debug") or {}
        self.chunks: list[Values] | None = self.debug.get("retrieved_chunks")
        self.dead = row.get("response") is None or row.get("error") is not None
        blank = not (self.response.get("answer") or "").strip()
        self.empty = not self.dead and blank and self.response.get("abstained") is not True
        self.failed = self.dead or self.empty

    @property
    def path_case(self) -> PathCase:
        """The path setting."""
        found: PathCase = self.settings.get("path_case", "sensitive")
        return found


def rank_order(chunks: list[Values], key: str = "rank") -> list[Values]:
    """List order, or by integer rank where every chunk has one."""
    ranks = [chunk.get(key) for chunk in chunks]
    if all(isinstance(rank, int) for rank in ranks):
        return sorted(chunks, key=lambda chunk: int(chunk[key]))
    return list(chunks)


def score(row: Values) -> Values:
    """Answer one row of op ``score``."""
    of = Row(row)
    cells = {**retrieval(of), **scope(of), **answer_side(of), **context(of, row)}
    cells |= sufficiency(of, cells, row)
    return {
        "metrics": {k: None if isinstance(v, str) else v for k, v in cells.items()},
        "status": {k: v if isinstance(v, str) else "scored" for k, v in cells.items()},
        "outcome": outcome(of, cells),
    }


def retrieval(of: Row) -> dict[str, Cell]:
    """Every key of the tables of 1.2 but scope."""
    populations = {
        **dict.fromkeys((*UNITS, *DOCUMENT_LEVEL), of.answerable and bool(of.golds)),
        "recall_all_at_k": of.answerable and has_groups(of),
        "group_recall_at_k": of.answerable and has_groups(of),
        "specificity_accuracy": bool(of.junk),
        "negative_accuracy": not of.answerable,
    }
    if not all(comparable(anchor, of.settings) for anchor in [*of.golds, *of.junk]):
        populations |= dict.fromkeys(ANCHOR_LEVEL, False)
    cells: dict[str, Cell] = dict.fromkeys(populations, NA)
    inside = [key for key, holds in populations.items() if holds]
    if of.chunks is None:
        # An empty answer is an error of the answer side alone (0.2); what is missing is missing.
        return cells | dict.fromkeys(inside, ERROR if of.dead else NA)
    ranked = rank_order(of.chunks)
    values = retrieval_of(of, ranked)
    return cells | {key: values[key] for key in inside}


def context(of: Row, row: Values) -> dict[str, Cell]:
    """Facts in the context and citations that support; what was looked up is given."""
    cut = None if of.chunks is None else rank_order(of.chunks)[: of.k]
    recall = evidence.facts(row, cut, of.dead)
    cells: dict[str, Cell] = {"fact_recall_in_context": recall, **lengths(of, cut)}
    cells["leak_rate"] = leaks(of, row)
    if of.retrieval_only:
        keys = ("context_utilization", "answer_rules_pass_rate", *evidence.SUPPORT)
        return cells | dict.fromkeys(keys, NA)
    answer = of.response.get("answer") or ""
    cells["answer_rules_pass_rate"] = evidence.rules(of.case, answer, of.failed)
    flag = of.response.get("abstained")
    abstained = (of.judge or {}).get("abstained") if flag is None else flag
    cells["context_utilization"] = evidence.utilization(row, recall, of.failed)
    return cells | evidence.support(row, cut, of.failed, abstained)


def sufficiency(of: Row, cells: dict[str, Cell], row: Values) -> dict[str, Cell]:
    """Whether the context holds what the answer needs, and who abstains with it or not."""
    key = "recall_all_at_k" if has_groups(of) else "hit_at_k"
    facts = cells["fact_recall_in_context"]
    if not isinstance(facts, str):
        facts = float(all(evidence.vital_places(row)))
    signs = [cells[key], facts]
    numbers = [one for one in signs if not isinstance(one, str)]
    if not of.answerable:
        enough: Cell = NA
    elif 1.0 in numbers:
        enough = 1.0
    elif ERROR in signs:
        enough = ERROR
    else:
        enough = 0.0 if numbers else NA
    refused = cells["over_abstention_rate"]
    found: dict[str, Cell] = {"sufficient_context": enough}
    if isinstance(enough, str):
        found |= dict.fromkeys(("answered_without_evidence", "refused_with_evidence"), enough)
    elif enough == 1.0:
        found |= {"answered_without_evidence": NA, "refused_with_evidence": refused}
    else:
        answered = refused if isinstance(refused, str) else 1.0 - refused
        found |= {"answered_without_evidence": answered, "refused_with_evidence": NA}
    if of.retrieval_only:
        found |= dict.fromkeys(("answered_without_evidence", "refused_with_evidence"), NA)
    return found


def leaks(of: Row, row: Values) -> Cell:
    """Whether a chunk of any rank is at an irrelevant anchor, as far as that can be known."""
    closed = [document(of, one)[1] for one in of.junk]
    rivals = [*of.junk, *(gold for gold in of.golds if document(of, gold)[1] in closed)]
    if not all(comparable(rival, of.settings) for rival in rivals):
        return NA
    if of.chunks is None:
        return evidence.leak(row, None, of.dead)
    return evidence.leak(
        row,
        [
            (decide(of.case, one, of.settings) or (set(), False))[1] if decidable(of, one) else None
            for one in of.chunks
        ],
        of.dead,
    )


def lengths(of: Row, cut: list[Values] | None) -> dict[str, Cell]:
    """Tokens of the cut, and the recall of the first of its chunks that fit into the budget."""
    tokens, budget = evidence.tokens(cut, of.dead), of.settings.get("token_budget")
    cells: dict[str, Cell] = {"context_tokens": tokens if isinstance(tokens, str) else sum(tokens)}
    if budget is None:
        return cells
    known = all(comparable(anchor, of.settings) for anchor in [*of.golds, *of.junk])
    known = known and all(decidable(of, chunk) for chunk in cut or [])
    if not of.golds or cut is None or isinstance(tokens, str) or not known:
        return cells | {"recall_at_tokens": NA}
    first = max(n for n in range(len(cut) + 1) if sum(tokens[:n]) <= budget)
    met = [(decide(of.case, one, of.settings) or (set(), False))[0] for one in cut[:first]]
    return cells | {"recall_at_tokens": len(set().union(*met)) / len(of.golds)}


def has_groups(of: Row) -> bool:
    """Say whether the case requires groups of golds."""
    return bool(of.golds) and of.case.get("required_support_groups") is not None


def retrieval_of(of: Row, ranked: list[Values]) -> dict[str, Cell]:
    """Values of one order of the chunks, whatever the population."""
    cut = ranked[: of.k]
    values: dict[str, Cell] = {"negative_accuracy": float(not ranked)}
    if not all(decidable(of, chunk) for chunk in cut):
        values |= dict.fromkeys(ANCHOR_LEVEL, NA)
    else:
        values |= anchor_level(of, cut)
    return values | document_level(of, cut)


def decidable(of: Row, chunk: Values) -> bool:
    """False where a text or a page is missing without which a chunk cannot be compared."""
    if missing_text(of.case, chunk, of.settings):
        return False
    return decide(of.case, chunk, of.settings) is not None


def anchor_level(of: Row, cut: list[Values]) -> dict[str, Cell]:
    """Metrics whose unit is the gold."""
    judged = [decide(of.case, chunk, of.settings) or (set(), False) for chunk in cut]
    found = [matched for matched, _ in judged]
    copies = duplicates(of, cut)
    reached: set[int] = set().union(*found)
    grades = {index: gold.get("grade", 1) for index, gold in enumerate(of.golds)}
    values = unit_metrics(found, grades, copies, of.k)
    values["specificity_accuracy"] = float(not any(irrelevant for _, irrelevant in judged))
    if has_groups(of):
        groups = [set(group) for group in of.case["required_support_groups"]]
        values["recall_all_at_k"] = float(any(group <= reached for group in groups))
        values["group_recall_at_k"] = max(len(group & reached) / len(group) for group in groups)
    return values


def document_level(of: Row, cut: list[Values]) -> dict[str, Cell]:
    """The same metrics over each document's first occurrence.

    Irrelevant sections play no part: document level stands where headings are not reported, so
    it cannot depend on them.
    """
    golds = distinct_documents(of, of.golds)
    grades = {
        index: max(
            gold.get("grade", 1) for gold in of.golds if document(of, gold) == document(of, one)
        )
        for index, one in enumerate(golds)
    }
    found = [
        {index for index, gold in enumerate(golds) if same_document(gold, chunk, of.settings)}
        for chunk in distinct_documents(of, cut)
    ]
    values = unit_metrics(found, grades, set(), of.k)
    return {f"doc_{key}": value for key, value in values.items()}


def document(of: Row, where: Values) -> tuple[object, str]:
    """Name the document of an anchor or chunk."""
    return where.get("vault"), norm_path(where["rel_path"], of.path_case)


def distinct_documents(of: Row, places: list[Values]) -> list[Values]:
    """First place of each document."""
    first: dict[tuple[object, str], Values] = {}
    for place in places:
        first.setdefault(document(of, place), place)
    return list(first.values())


def duplicates(of: Row, cut: list[Values]) -> set[int]:
    """Indices of chunks that repeat an earlier one."""
    seen: set[object] = set()
    copies = set()
    for index, chunk in enumerate(cut):
        where = document(of, chunk)
        if chunk.get("chunk_id") is not None:
            key: object = ("id", where, chunk["chunk_id"])
        elif chunk.get("text") is not None:
            key = ("text", where, tuple(chunk_segments(chunk)), norm_text(chunk["text"]))
        else:
            continue
        if key in seen:
            copies.add(index)
        seen.add(key)
    return copies


def unit_metrics(
    found: list[set[int]], grades: dict[int, int], copies: set[int], k: int
) -> dict[str, Cell]:
    """The seven metrics shared by both levels; ``found`` holds the units met at each rank."""
    if not grades:
        return dict.fromkeys(UNITS, NA)
    ranking = Ranking(
        matched=tuple(map(frozenset, found)),
        duplicate=tuple(index in copies for index in range(len(found))),
        grades=tuple(grades[unit] for unit in range(len(grades))),
        k=k,
    )
    return {key: kernel(ranking) for key, kernel in KERNELS.items()}


def scope(of: Row) -> dict[str, Cell]:
    """Folder selection."""
    selection = of.debug.get("folder_selection") or {}
    selected = selection.get("selected_folders")
    fallback = selection.get("fallback_used")
    cells: dict[str, Cell] = dict.fromkeys((*SCOPE, "fallback_rate"), NA)
    if fallback is not None:
        cells["fallback_rate"] = float(fallback)
    elif of.dead and of.folder_mode == "on_with_fallback":
        cells["fallback_rate"] = ERROR
    if not of.answerable or not of.golds or of.folder_mode == "off":
        return cells
    if selected is None:
        asked = of.folder_mode in ("on", "on_with_fallback")
        return cells | dict.fromkeys(SCOPE, ERROR if of.dead and asked else NA)
    chosen = [in_scope(gold, selected, of.path_case) for gold in of.golds]
    effective = [True for _ in chosen] if fallback else chosen
    cells["scope_miss_rate"] = float(not any(effective))
    cells["scope_selection_miss_rate"] = float(not any(chosen))
    cells["scope_any_excluded_rate"] = float(not all(effective))
    return cells


def in_scope(gold: Values, folders: list[str], path_case: PathCase) -> bool:
    """Say whether a folder holds a gold's document."""
    path = norm_path(gold["rel_path"], path_case).split("/")
    for folder in folders:
        if folder.strip() in ("", ".", "/", "*"):
            return True
        name = norm_path(folder, path_case)
        parts = name.split("/") if name else []
        if len(parts) < len(path) and path[: len(parts)] == parts:
            return True
    return False


def answer_side(of: Row) -> dict[str, Cell]:
    """Every key of the table of 1.3."""
    cells: dict[str, Cell] = dict.fromkeys(ANSWER_SIDE, NA)
    if of.retrieval_only:
        return cells
    labelled = of.answerable and bool(of.golds)
    rule = of.case.get("recency_conflict_rule")
    dated = labelled and rule is not None and len(of.golds) >= 2
    if rule == "acknowledge_both" and of.judge is None:
        dated = False
    populations = {
        **dict.fromkeys(ATTRIBUTION, labelled),
        "citation_in_context_rate": True,
        "recency_conflict_accuracy": dated,
        "abstention_accuracy": not of.answerable,
        "hallucination_rate_unanswerable": not of.answerable,
        "over_abstention_rate": of.answerable,
    }
    inside = [key for key, holds in populations.items() if holds]
    if of.failed:
        return cells | dict.fromkeys(inside, ERROR)
    values = {**attribution(of), **abstention(of)}
    return cells | {key: values[key] for key in inside}


def attribution(of: Row) -> dict[str, Cell]:
    """Return the metrics of the citations."""
    ranked = None if of.chunks is None else rank_order(of.chunks)
    citations = cited(of.response, ranked, of.case, of.settings)
    keys = (*ATTRIBUTION, "citation_in_context_rate", "recency_conflict_accuracy")
    cells: dict[str, Cell] = dict.fromkeys(keys, NA)
    if citations is None and of.settings.get("citations_reported"):
        citations = []
    if citations is None:
        return cells
    if citations and ranked is not None:
        there = [in_context(one, ranked, of.settings) for one in citations]
        cells["citation_in_context_rate"] = sum(there) / len(there)
    found = [cited_golds(of, one, ranked or []) for one in citations]
    hits = [one for one in found if one is not None]
    if len(hits) < len(found):
        return cells
    met = [any(column) for column in zip(*hits, strict=True)] or [False] * len(of.golds)
    if of.golds:
        cells["attribution_hit_rate"] = float(any(met))
        cells["attribution_recall"] = sum(met) / len(met)
    if citations:
        cells["attribution_precision"] = sum(any(one) for one in hits) / len(hits)
    if len(met) >= 2:
        cells["recency_conflict_accuracy"] = recency(of, met)
    return cells


def cited_golds(of: Row, citation: Values, ranked: list[Values]) -> list[bool] | None:
    """Whether a citation points into each gold; None: its chunk cannot be compared."""
    if citation.get("chunk") is None:
        return [points_into(citation, gold, of.settings) for gold in of.golds]
    chunk = ranked[citation["chunk"]]
    known = all(comparable(anchor, of.settings) for anchor in [*of.golds, *of.junk])
    verdict = decide(of.case, chunk, of.settings) if known and decidable(of, chunk) else None
    return None if verdict is None else [at in verdict[0] for at in range(len(of.golds))]


def recency(of: Row, met: list[bool]) -> Cell:
    """Whether the rule for conflicting sources was kept; ``met``: golds that are cited."""
    rule = of.case.get("recency_conflict_rule")
    if rule == "cite_newer":
        return float(met[0])
    if rule != "acknowledge_both" or not all(met):
        return float(all(met))
    verdict = (of.judge or {}).get("acknowledges_conflict")
    return ERROR if verdict is None else float(verdict)


def abstention(of: Row) -> dict[str, Cell]:
    """Whether the answer abstained, by flag or by judge."""
    flag = of.response.get("abstained")
    unknown = NA
    if flag is None and of.judge is not None:
        flag, unknown = of.judge.get("abstained"), ERROR
    keys = ("abstention_accuracy", "hallucination_rate_unanswerable", "over_abstention_rate")
    if flag is None:
        return dict.fromkeys(keys, unknown)
    return dict(zip(keys, (float(flag), float(not flag), float(flag)), strict=True))


def outcome(of: Row, cells: dict[str, Cell]) -> str:
    """Passed, flawed, missed or error."""
    if of.failed:
        return ERROR
    first = "recall_all_at_k" if has_groups(of) else "hit_at_k"
    if isinstance(cells[first], str):
        first = "doc_hit_at_k"
    wanted = {
        first: 1.0,
        "specificity_accuracy": 1.0,
        "leak_rate": 0.0,
        "recency_conflict_accuracy": 1.0,
        "abstention_accuracy": 1.0,
        "over_abstention_rate": 0.0,
    }
    if of.golds and isinstance(cells[first], str):
        wanted["scope_miss_rate"] = 0.0
    numbers = {key: cell for key, cell in cells.items() if not isinstance(cell, str)}
    if any(numbers.get(key, want) != want for key, want in wanted.items()):
        return "missed"
    if numbers.get("answer_rules_pass_rate") == 0:
        return "flawed"
    lowest = {"attribution_hit_rate": 1.0, "groundedness": 4.0, "correctness": 4.0}
    if of.answerable and any(numbers.get(key, low) < low for key, low in lowest.items()):
        return "flawed"
    return "passed"


def rerank_delta(row: Values) -> Values:
    """Answer one row of op ``rerank_delta``."""
    of = Row(row)
    after = retrieval(of)
    unknown: dict[str, float | None] = dict.fromkeys(after)
    if of.chunks is None:
        return {"delta": unknown}
    if not all(isinstance(chunk.get("rank_before_rerank"), int) for chunk in of.chunks):
        return {"delta": unknown}
    before = retrieval_of(of, rank_order(rank_order(of.chunks), "rank_before_rerank"))
    delta = dict(unknown)
    for key, value in after.items():
        earlier = before.get(key, NA)
        if not isinstance(value, str) and not isinstance(earlier, str):
            delta[key] = value - earlier
    return {"delta": delta}
