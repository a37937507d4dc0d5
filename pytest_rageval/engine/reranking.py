"""Orders of stored candidates by a reranker: an endpoint in the shape of Cohere or Jina, or code.

Nothing is sent unless a user names an endpoint.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Final, Protocol

import msgspec

from pytest_rageval.analysis.rerank import Candidates, CaseKey, Order, Reordered
from pytest_rageval.engine.endpoint import EndpointClient, ModelEndpoint
from pytest_rageval.engine.own_code import call_own
from pytest_rageval.support.in_flight import Slots, in_order
from pytest_rageval.support.process import Closing
from pytest_rageval.support.text import clean, shown
from pytest_rageval.support.threads import computed
from pytest_rageval.values.errors import ConfigError, RagEvalError
from pytest_rageval.values.lenient import number
from pytest_rageval.values.settings import Settings

OPTIONS: Final = ("--reranker", "--api-key-env")


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankerAnswer:
    """Answer of a reranker to one query."""

    scores: Mapping[int, float]
    """By position of the document, from 0; higher is better. The rest was not ranked."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """``tokens`` and ``searches`` as far as the endpoint reports them."""


class Reranker(Protocol):
    """Scores documents for a query."""

    concurrency: int
    """Queries at a time."""

    async def score(self, query: str, documents: Sequence[str]) -> RerankerAnswer:
        """Return the scores of documents.

        Raises:
            RagEvalError: the reranker failed.
        """


def reorder(
    cases: Sequence[Candidates],
    reranker: Reranker,
    *,
    on_answer: Callable[[], object] = lambda: None,
) -> Reordered:
    """Ask a reranker, once a case, for its order of the candidates; their chunks have texts.

    Raises:
        RagEvalError: it fails already on the first case.
    """
    orders: dict[CaseKey, Order] = {case.key: () for case in cases if not case.chunks}
    milliseconds: list[float] = []
    usage: dict[str, float] = {}
    failed: dict[CaseKey, str] = {}
    n_unranked = 0
    slots = Slots(reranker.concurrency)

    async def ask(case: Candidates) -> tuple[RerankerAnswer | RagEvalError, float]:
        documents = [chunk.text or "" for chunk in case.chunks]
        async with slots.hold():
            started = perf_counter()
            try:
                found = await reranker.score(case.record.case.question, documents)
            except RagEvalError as error:
                return error, 0.0
            return found, (perf_counter() - started) * 1000

    asked = [case for case in cases if case.chunks]
    works = (partial(ask, case) for case in asked)
    with closing(in_order(works, slots)) as answers:
        for case, (found, took) in zip(asked, answers, strict=True):
            on_answer()
            if isinstance(found, RagEvalError):
                if not milliseconds and not failed:
                    raise found
                failed[case.key] = clean(str(found), 200)
                continue
            milliseconds.append(took)
            n_unranked += len(case.chunks) - len(found.scores)
            orders[case.key] = best_first(found.scores, len(case.chunks))
            for name, value in found.usage.items():
                usage[name] = usage.get(name, 0.0) + value
    return Reordered(
        orders=orders,
        milliseconds=tuple(milliseconds),
        usage=usage,
        failed=failed,
        n_unranked=n_unranked,
    )


def best_first(scores: Mapping[int, float], n: int) -> Order:
    """Return the positions 0 to ``n`` - 1 by score; equal scores keep their order.

    >>> best_first({0: 0.1, 2: 0.9}, 3)
    [2, 0, 1]
    """
    return sorted(range(n), key=lambda place: -scores.get(place, -math.inf))


# --- an endpoint ---------------------------------------------------------------------------


class EndpointReranker(EndpointClient, Closing):
    """A model behind ``/rerank`` in the shape of Cohere and Jina; also a context manager.

    Sent are ``query``, ``documents``, ``top_n`` and, if given, ``model``. Read are ``index`` and
    ``relevance_score`` (or ``score``) of each entry of ``results`` (or ``data``, or the list that
    is the whole reply). Other arguments are those of ``EndpointClient``.
    """

    def __init__(self, endpoint: ModelEndpoint, *, concurrency: int = 4, **given: Any) -> None:
        super().__init__(endpoint, "rerank", OPTIONS, **given)
        self.concurrency = concurrency
        self._http = self.connect()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    async def score(self, query: str, documents: Sequence[str]) -> RerankerAnswer:
        """Return the scores of documents.

        Raises:
            EndpointError: it failed, or its reply has another shape.
        """
        body: dict[str, Any] = {
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
        }
        if self.endpoint.model is not None:
            body["model"] = self.endpoint.model
        reply = await self.post(self._http, body)
        try:
            return RerankerAnswer(
                scores=_read_scores(reply, len(documents)), usage=_read_usage(reply)
            )
        except ValueError as error:
            raise self.misread("no_ranks", error) from None


@dataclass(slots=True)
class _Entry:
    index: int
    relevance_score: float | None = None
    score: float | None = None


def _read_scores(reply: Any, n: int) -> dict[int, float]:
    entries = reply.get("results", reply.get("data")) if isinstance(reply, dict) else reply
    scores: dict[int, float] = {}
    for place, entry in enumerate(msgspec.convert(entries, list[_Entry])):
        where = f"results[{place}]"
        if not 0 <= entry.index < n or entry.index in scores:
            raise ValueError(f"{where}.index: {entry.index}, expected 0 to {n - 1}, each once")
        score = entry.score if entry.relevance_score is None else entry.relevance_score
        if score is None or not math.isfinite(score):  # a reply's NaN is read as null
            raise ValueError(f"{where}.relevance_score: {score}, expected a finite number")
        scores[entry.index] = score
    if n and not scores:
        raise ValueError(f"no score for any of {n} documents")
    return scores


def _read_usage(reply: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, path in _USAGE:
        amount = number(reply, *path)
        if amount is not None and amount >= 0:
            found.setdefault(name, amount)
    return found


_USAGE: Final = (
    ("tokens", ("usage", "total_tokens")),
    ("tokens", ("meta", "tokens", "input_tokens")),
    ("searches", ("meta", "billed_units", "search_units")),
)


# --- code of the project -------------------------------------------------------------------


class FunctionReranker:
    """A function of the project: query and documents to one score each, higher is better.

    Args:
        setting: its name as ``module:function``, for messages.
        function: called for one query at a time.
        settings: with the limit of one call and the folder of the project.
    """

    concurrency = 1
    """A model in the process is rarely safe for several threads."""

    def __init__(self, setting: str, function: Callable[..., object], settings: Settings) -> None:
        if not callable(function):
            raise ConfigError.of("--reranker", "type", found=repr(setting), expected="a function")
        if inspect.iscoroutinefunction(function):
            raise ConfigError.of(
                "--reranker",
                "type",
                found=f"{setting!r}, an async function",
                expected="a plain one, which may run it by asyncio.run",
            )
        self._setting = setting
        self._function = function
        self._settings = settings

    async def score(self, query: str, documents: Sequence[str]) -> RerankerAnswer:
        """Return the scores of documents.

        Raises:
            ConfigError: the function raised, took too long or returned something else.
        """

        def call() -> object:
            found = self._function(query, list(documents))
            return list(found) if isinstance(found, Iterable) else found

        found, fault = await computed(partial(call_own, call, (), self._settings))
        if fault is not None:
            said = f"{fault.message}\n{fault.traceback}".strip()
            raise ConfigError.of(self._setting, "invalid", reason=said)
        try:
            scores = [number(_only(value)) for value in found] if isinstance(found, list) else []
        except (TypeError, ValueError):  # several numbers in the place of one
            scores = []
        if len(scores) != len(documents) or None in scores:
            raise ConfigError.of(
                self._setting,
                "type",
                found=clean(shown(found), 80),
                expected=f"{len(documents)} finite numbers, one for each document",
            )
        return RerankerAnswer(scores={place: s for place, s in enumerate(scores) if s is not None})


def _only(value: object) -> object:
    """Return the one number of an array of numpy or torch as one of Python."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value
