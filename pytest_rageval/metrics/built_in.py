"""The built-in metrics: title, direction, scale and population of every key.

Own metrics are described by definitions, which ``config.json`` stores beside
``metric_definitions_version``, so that a stored run is read without the project's code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import Final

from pytest_rageval.metrics.registry import STAGE_PREFIX, MetricInfo, Registry
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import Direction, Level, MetricDefinition
from pytest_rageval.values.record import STAGES, FailureStage
from pytest_rageval.values.run import RunConfig

DEFINITIONS_VERSION: Final = 2
"""Version of the built-in definitions; runs under different versions are not comparable.

2: headings are compared as ``heading_text`` has them. 1: as they are written.
"""

_RETRIEVAL: Final = "answerable cases with golds whose chunks are reported"
_GROUPS: Final = f"{_RETRIEVAL} and that have required_support_groups"
_SCOPE: Final = "answerable cases with golds for which folders were selected"
_CITED: Final = "answerable cases with golds whose citations are reported"
_CLAIMS: Final = (
    "answerable cases answered, not abstained on, with claims, whose chunks come with their texts"
)

_TOTAL: Final = partial(MetricInfo, direction="lower", scale=(0.0, None))


def _retrieval() -> list[MetricInfo]:
    anchor = partial(MetricInfo, population=_RETRIEVAL, level="anchor")
    group = partial(MetricInfo, population=_GROUPS, level="anchor")
    found = [
        anchor(key="hit_at_k", title="Hit rate (success@k)", binary=True),
        anchor(key="recall_at_k", title="Recall@k"),
        group(key="recall_all_at_k", title="Recall of a whole group@k", binary=True),
        group(key="group_recall_at_k", title="Recall of the best group@k"),
        anchor(key="mrr", title="MRR@k (reciprocal rank)"),
        anchor(key="precision_at_k", title="Precision@k"),
        anchor(key="precision_returned_at_k", title="Precision of the returned"),
        anchor(key="ndcg_at_k", title="nDCG@k"),
        anchor(key="map", title="MAP@k (average precision)"),
    ]
    return [*found, *(_of_documents(one) for one in found if one.population == _RETRIEVAL)]


def _of_documents(one: MetricInfo) -> MetricInfo:
    title = one.title[0].lower() + one.title[1:] if one.title[1].islower() else one.title
    return replace(one, key=f"doc_{one.key}", title=f"Document {title}", level="document")


# fmt: off
def _of_chunks() -> list[MetricInfo]:
    binary = partial(MetricInfo, binary=True)
    scope = partial(binary, direction="lower", population=_SCOPE, level="scope")
    vectors = partial(MetricInfo, level="embedding")
    return [
        binary(key="specificity_accuracy", title="Specificity (nothing irrelevant retrieved)",
            population="cases with irrelevant_supports whose chunks are reported", level="anchor"),
        binary(key="negative_accuracy", title="Nothing retrieved for unanswerable",
            population="unanswerable cases whose chunks are reported", level="list"),
        binary(key="context_carry", title="Later turns that find what they mean",
            population="later turns of conversations with golds, whose standalone question, asked "
                       "alone, finds its evidence",
            level="anchor"),
        binary(key="leak_rate", title="Leaks of what a user must not see", direction="lower",
            population="cases with irrelevant_supports and metadata.user or the tag acl, whose "
                       "chunks are reported",
            level="anchor"),
        scope(key="scope_miss_rate", title="No gold in the searched folders"),
        scope(key="scope_selection_miss_rate", title="No gold in the selected folders"),
        scope(key="scope_any_excluded_rate", title="Some gold outside the searched folders"),
        scope(key="fallback_rate", title="Folder fallback used", direction="neutral",
            population="cases that report fallback_used"),
        MetricInfo(key="fact_recall_in_context", title="Expected facts in the context",
            population="answerable cases with expected facts whose chunks come with their texts",
            level="list"),
        binary(key="sufficient_context", title="Context holds what the answer needs",
            population="answerable cases with golds or expected facts, whose chunks can be "
                       "compared with one of them",
            level="list"),
        _TOTAL(key="context_tokens", title="Tokens of the context",
            population="cases whose chunks come with token counts or texts", level="list"),
        MetricInfo(key="recall_at_tokens", title="Recall within a budget of tokens",
            population=f"{_RETRIEVAL} with token counts or texts, if token_budget is set in "
                       "[tool.rageval]",
            level="anchor"),
        vectors(key="query_chunk_similarity", title="Similarity of query and chunks",
            direction="neutral", scale=(-1.0, 1.0),
            population="cases whose query and chunks come with vectors"),
        vectors(key="similarity_margin", title="Similarity to relevant above other chunks",
            scale=(-2.0, 2.0),
            population=f"{_RETRIEVAL} with vectors, and hold relevant and other chunks"),
    ]


def _answer() -> list[MetricInfo]:
    answer = partial(MetricInfo, level="answer")
    binary = partial(answer, binary=True)
    return [
        binary(key="attribution_hit_rate", title="Any gold cited", population=_CITED),
        answer(key="attribution_recall", title="Golds cited", population=_CITED),
        answer(key="attribution_precision", title="Citations that point into a gold",
            population=f"{_CITED}, with at least one citation"),
        answer(key="citation_in_context_rate", title="Citations that were retrieved",
            population="cases with at least one citation whose chunks are reported"),
        answer(key="citation_support_precision", title="Citations that support their claim",
            population=f"{_CLAIMS}, with at least one citation in the text"),
        answer(key="citation_support_recall", title="Claims with a citation that supports them",
            population=f"{_CLAIMS}, if any answer of the run cites in its text"),
        binary(key="recency_conflict_accuracy", title="Recency conflict handled",
            population=f"{_CITED}, with a recency_conflict_rule and at least two golds"),
        binary(key="answer_rules_pass_rate", title="Answers that keep every rule",
            population="cases with answer_rules"),
        binary(key="abstention_accuracy", title="Abstention accuracy",
            population="unanswerable cases"),
        binary(key="hallucination_rate_unanswerable", title="Answered the unanswerable",
            direction="lower", population="unanswerable cases"),
        binary(key="over_abstention_rate", title="Abstained on the answerable",
            direction="lower", population="answerable cases"),
        binary(key="answered_without_evidence", title="Answered without the evidence",
            direction="lower", population="answerable cases without sufficient context"),
        binary(key="refused_with_evidence", title="Abstained in spite of the evidence",
            direction="lower", population="answerable cases with sufficient context"),
    ]


def _judged() -> list[MetricInfo]:
    grounded = "answerable cases answered, not abstained on, with context"
    answered = "answerable cases that were answered"
    rows: list[tuple[str, str, float, str]] = [
        ("groundedness", "Groundedness", 5.0, grounded),
        ("claim_support_rate", "Claims supported (faithfulness)", 1.0, f"{grounded} and claims"),
        ("correctness", "Correctness", 5.0, "answerable cases"),
        ("key_fact_recall", "Expected facts found", 1.0, "answerable cases with expected facts"),
        ("context_utilization", "Facts of the context in the answer", 1.0,
            "answerable cases with expected facts that the context states"),
        *(
            (f"quality.{name}", f"Quality: {name}", 1.0, answered)
            for name in ("correctness", "completeness", "relevance", "overall")
        ),
        *(
            (f"five.{name}", f"Five dimensions: {name.replace('_', ' ')}", 1.0, "answered cases")
            for name in (*FIVE_WEIGHTS, "composite")
        ),
    ]
    return [
        MetricInfo(key=key, title=title, scale=(0.0, high), population=population, level="judged")
        for key, title, high, population in rows
    ]


def _run() -> list[MetricInfo]:
    rates: list[tuple[str, str, Direction, str]] = [
        ("error_rate", "Failed cases", "lower", "cases attempted"),
        ("timeout_rate", "Timed-out cases", "lower", "cases attempted"),
        ("empty_response_rate", "Empty answers", "lower", "cases attempted"),
        ("pass_rate", "Cases that met their expectation", "higher", "cases checked"),
        ("judge_error_rate", "Failed verdicts", "lower", "verdicts needed"),
        ("judge_disagreement_rate", "Judge disagreement", "lower", "cases judged twice"),
        ("clarify_rate", "Answers that ask back", "neutral", "answers to cases that allow it"),
        ("pass_hat_k", "Cases that pass every repeat (pass^k)", "higher",
            "cases asked several times"),
        ("flaky_rate", "Flaky cases", "lower", "cases asked several times"),
        ("cross_lingual_consistency", "Same documents in another language", "higher",
            "pairs of a case and its translation"),
        ("no_chunks_generated_rate", "Documents without chunks", "lower", "documents processed"),
        ("chunks_skipped_rate", "Chunks skipped", "lower", "chunks attempted"),
        ("chunks_skipped_due_to_context_rate", "Chunks skipped for their length", "lower",
            "chunks attempted"),
    ]
    totals: list[tuple[str, str, str]] = [
        ("newly_missed", "Cases missed that the baseline passed", "cases paired with a baseline"),
        ("latency_ms.p50", "Median latency", "answered and timed-out cases"),
        ("latency_ms.p95", "95th percentile of latency", "answered and timed-out cases"),
        ("latency_ms.sum", "Total latency", "answered and timed-out cases"),
        ("suite_wall_s", "Wall clock time", "the run"),
        ("cost_usd.total", "Judge cost", "judge calls that were not cached"),
        ("cost_usd.uncached", "Judge cost without cache", "judge calls"),
        ("judge_tokens", "Judge tokens", "judge calls that were not cached"),
    ]
    rate = partial(MetricInfo, level="run")
    return [
        *(
            rate(key=key, title=title, direction=way, population=of)
            for key, title, way, of in rates
        ),
        *_stages(),
        *(_TOTAL(key=key, title=title, population=of, level="run") for key, title, of in totals),
    ]
# fmt: on


def _stages() -> Iterator[MetricInfo]:
    stages: dict[FailureStage, Level] = {
        **dict.fromkeys(STAGES, "run"),
        **dict.fromkeys(("wrongly_abstained", "not_cited", "hallucinated"), "answer"),
        **dict.fromkeys(("ungrounded", "not_used", "incorrect"), "judged"),
    }
    for stage, level in stages.items():
        title = f"Cases that failed at {stage}"
        yield _TOTAL(key=f"{STAGE_PREFIX}{stage}", title=title, population="cases", level=level)


FIVE_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "faithfulness": 0.30,
        "citation_accuracy": 0.20,
        "abstention": 0.20,
        "synthesis": 0.15,
        "relevance": 0.15,
    }
)
"""Weights of ``five.composite``."""

_CASES: Final[Mapping[str, MetricInfo]] = MappingProxyType(
    {metric.key: metric for metric in (*_retrieval(), *_of_chunks(), *_answer(), *_judged())}
)

BUILT_IN: Final = Registry(
    cases=_CASES,
    runs=MappingProxyType({metric.key: metric for metric in _run()}),
    aliases=MappingProxyType(
        {
            "recall_any_at_k": "hit_at_k",
            "success_at_k": "hit_at_k",
            **{
                key.removesuffix("_at_k"): key
                for key in _CASES
                if key.startswith("doc_") and key.endswith("_at_k")
            },
        }
    ),
)
"""The registry of a project without metrics of its own."""

ASPECT_KEYS: Final = (
    "recall_at_k",
    "recall_all_at_k",
    "mrr",
    "abstention_accuracy",
    "groundedness",
    "correctness",
)
"""One metric per aspect of a system: retrieval, rank, abstention, answer."""


def own_definitions(registry: Registry) -> dict[str, MetricDefinition]:
    """Return the definitions of own metrics, by key."""
    return {
        key: MetricDefinition(**{f.name: getattr(info, f.name) for f in fields(MetricDefinition)})
        for key, info in registry.own.items()
    }


def stored_registry(*configs: RunConfig, project: Registry = BUILT_IN) -> Registry:
    """Return the registry of stored runs: built-in metrics and those that they define.

    Args:
        configs: of the runs; of two definitions of a key the later one holds. Those of a name that
            the package has taken since are left out.
        project: metrics of the project, which runs may not have yet.
    """
    own = dict(project.own)
    for config in configs:
        own |= {info.key: info for info in _stored(config)}
    return BUILT_IN.with_(own.values()) if own else BUILT_IN


def _stored(config: RunConfig) -> Iterator[MetricInfo]:
    for key, one in config.metric_definitions.items():
        given = {f.name: getattr(one, f.name) for f in fields(MetricDefinition)}
        # The names are of a project's code.
        texts = {name: clean(text) for name, text in given.items() if isinstance(text, str)}
        info = MetricInfo(key=key, **{**given, **texts})
        low, high = info.bounds
        try:
            BUILT_IN.with_([info])
        except ConfigError:
            continue
        if low < high:
            yield info
