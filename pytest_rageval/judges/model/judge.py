"""A judge that asks a model, adapts to the form its endpoint accepts, and caches verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_rageval.judges.cost import REPLY_TOKENS, PlannedCall, count_prompt_tokens, find_price
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.memory import (
    document_of,
    document_of_form,
    form_of,
    judgement_of,
    recalled,
    reply_usage,
    text_of,
)
from pytest_rageval.judges.model.wire import (
    Form,
    ModelReply,
    first_form,
    no_completion,
    parameters,
    read_completion,
    request_body,
)
from pytest_rageval.support.http.address import blot_out, blot_out_of_reply
from pytest_rageval.support.process import Closing
from pytest_rageval.support.threads import computed, session_loop
from pytest_rageval.values.errors import JudgeError
from pytest_rageval.values.verdict import (
    JudgeFailure,
    Judgement,
    JudgeRequest,
    JudgeUsage,
    Verdict,
    judge_failure,
    sum_usage,
)

if TYPE_CHECKING:
    from pytest_rageval.judges.rubrics.load import Prompt, PromptMessage, Rubric

MOST_CHARS: Final = 1_000_000
"""Characters of a prompt that is sent: more fits into no model, and would be paid for."""
_KEPT_CHARS: Final = 10_000
"""Beginning of a reply that is kept; a repair shows less."""
_REPAIRABLE: Final = frozenset({"unparseable", "out_of_range"})
_Tally = list[tuple[JudgeUsage, float]]
"""Of each question under one rubric: what it used, and its milliseconds."""


class Cache(Protocol):
    """Store of verdicts, and of the form of request that each endpoint accepts."""

    def get(self, key: str) -> Mapping[str, Any] | None:
        """Return the document of a key."""

    def put(self, key: str, document: Mapping[str, Any], *, identity: str) -> bool:
        """Keep a document."""

    def get_level(self, endpoint: str, model: str) -> Mapping[str, Any] | None:
        """Return the form of request that an endpoint accepts."""

    def put_level(self, endpoint: str, model: str, document: Mapping[str, Any]) -> bool:
        """Store the form of request that an endpoint accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """Parts of all questions under one rubric in one form."""

    rubric: Rubric
    form: Form
    parameters: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class _Question:
    """One answer to be judged."""

    terms: _Terms
    request: JudgeRequest
    prompt: Prompt
    key: str

    @property
    def n_chars(self) -> int:
        """Characters of the text that is judged, with its context."""
        return len(self.prompt.messages[-1].text)


@dataclass(slots=True, kw_only=True)
class _Said:
    """Outcome of a question, after repairs."""

    outcome: Verdict | JudgeFailure
    reply: ModelReply | None = None
    repaired: bool = False


class OpenAIJudge(Closing):
    """A model behind an OpenAI-compatible API.

    Usable as a context manager; the endpoint is closed with it, the cache is not.

    Args:
        endpoint: the model and its address.
        cache: store of verdicts; None: every question is asked.
        alternate: whether to ask in the other wording of the rubrics, for spot checks.
        rubric_root: folder that the path of a user's rubric starts at; None: the working folder.

    Raises:
        ConfigError: a price is wrong.
    """

    def __init__(
        self,
        endpoint: ChatEndpoint,
        *,
        cache: Cache | None = None,
        alternate: bool = False,
        rubric_root: str | Path | None = None,
    ) -> None:
        self.takes_slots = endpoint.pacing.slots is not None
        self._endpoint = endpoint
        self.identity: Final = endpoint.identity
        """Model and host, such as ``gpt-4o-2024-08-06 at api.openai.com``."""
        self._settings = endpoint.settings
        self.price: Final = find_price(endpoint.model, endpoint.settings, endpoint.base_url)
        self._cache = cache
        self._alternate = alternate
        self._rubric_root = rubric_root
        self._terms: dict[str, _Terms] = {}
        self._form: Form | None = None
        self._remembered: Form | None = None

    def __repr__(self) -> str:
        return f"OpenAIJudge({self.identity!r})"

    @property
    def cache_warning(self) -> str | None:
        """One line about verdicts that its cache does not keep; None: no problem."""
        warning = getattr(self._cache, "warning", None)
        return None if warning is None else f"judge cache {warning}"

    def forget(self) -> None:
        """Discard the form of request that the endpoint was found to accept."""
        self._form = self._remembered = None

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        """Judge one answer; failures are data.

        Args:
            rubric: a name of ``RUBRICS`` or the path of a user's rubric.
            request: the answer and its reference.
            repeat: number of the sampling repeat, part of the cache key.

        Raises:
            ConfigError: the rubric is not valid.
            StorageError: the cache or the file of the rate limits cannot be used.
            JudgeError: the judge was opened only to plan.
        """
        return session_loop().run(self.judge_on_loop(rubric, request, repeat=repeat))

    async def judge_on_loop(
        self, rubric: str, request: JudgeRequest, *, repeat: int = 0
    ) -> Judgement:
        """Do as ``judge``, on the session's loop."""
        if not self._endpoint.needs_key:
            raise JudgeError("only_planned", judge=self.identity)
        tally: _Tally = []
        while True:
            # Prompts are long, and another process may be writing to the cache.
            question, stored = await computed(partial(self._look_up, rubric, request, repeat))
            if stored is not None:
                return recalled(stored, question.prompt.truncated_chunk_ids)
            if (n_chars := question.n_chars) > MOST_CHARS:
                chars, most = f"{n_chars:,}", f"{MOST_CHARS:,}"
                too_long = judge_failure("prompt_too_long", n_chars=chars, most=most)
                said: _Said | Form = _Said(outcome=too_long)
            else:
                said = await self._converse(question, tally)
            if isinstance(said, _Said):
                return await computed(partial(self._conclude, question, said, tally))
            self._learn(question.terms.form, said)

    def plan(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> PlannedCall:
        """Estimate a verdict without asking the model.

        Raises:
            ConfigError: the rubric is not valid.
            StorageError: the cache cannot be read.
        """
        question = self._question(rubric, request, repeat)
        is_sent = question.n_chars <= MOST_CHARS
        tokens = _prompt_tokens(question.prompt.messages) if is_sent else 0
        return PlannedCall(prompt_tokens=tokens, cached=self._recall(question.key) is not None)

    # --- asking ----------------------------------------------------------------------------

    def _look_up(
        self, rubric: str, request: JudgeRequest, repeat: int
    ) -> tuple[_Question, Judgement | None]:
        question = self._question(rubric, request, repeat)
        return question, self._recall(question.key)

    def _question(self, rubric: str, request: JudgeRequest, repeat: int) -> _Question:
        from pytest_rageval.judges.cache import judgement_key
        from pytest_rageval.judges.rubrics.load import render_prompt

        form, terms = self._current_form(), self._terms.get(rubric)
        if terms is None or terms.form is not form:
            terms = self._terms[rubric] = self._terms_of(rubric, form, terms)
        prompt = render_prompt(terms.rubric, request, level=form.level)
        key = judgement_key(
            prompt.sha256,
            repeat,
            identity=f"{self._endpoint.model} at {self._endpoint.base_url}",
            parameters=terms.parameters,
            rubric_version=terms.rubric.version,
            level=form.level,
        )
        return _Question(terms=terms, request=request, prompt=prompt, key=key)

    def _terms_of(self, rubric: str, form: Form, earlier: _Terms | None) -> _Terms:
        from pytest_rageval.judges.rubrics.load import load_rubric

        loaded = (
            load_rubric(rubric, alternate=self._alternate, root=self._rubric_root)
            if earlier is None
            else earlier.rubric
        )
        return _Terms(rubric=loaded, form=form, parameters=parameters(form, self._settings))

    async def _converse(self, question: _Question, tally: _Tally) -> _Said | Form:
        """Ask, and once more if the reply could not be read.

        Returns:
            The outcome, or the form to use instead of the refused one.
        """
        first = await self._turn(question, question.prompt.messages, tally)
        if isinstance(first, Form) or not isinstance(first.outcome, JudgeFailure):
            return first
        failure = first.outcome
        if first.reply is None or failure.kind not in _REPAIRABLE:
            return first
        from pytest_rageval.judges.rubrics.load import repair_messages

        messages = repair_messages(question.prompt, first.reply.text, failure)
        second = await self._turn(question, messages, tally)
        if isinstance(second, Form):
            # The same form was accepted a moment ago: the endpoint is inconsistent.
            return replace(first, repaired=True)
        return replace(second, reply=second.reply or first.reply, repaired=True)

    async def _turn(
        self, question: _Question, messages: Sequence[PromptMessage], tally: _Tally
    ) -> _Said | Form:
        from pytest_rageval.judges.rubrics.reply import parse_reply

        tokens = _prompt_tokens(messages) + min(REPLY_TOKENS, self._settings.max_tokens)
        terms, endpoint = question.terms, self._endpoint
        body = request_body(
            endpoint.model,
            [(one.role, one.text) for one in messages],
            terms.form,
            self._settings,
            terms.rubric.name,
            question.prompt.shape.strict,
        )
        answer = await endpoint.ask(body, tokens, terms.form)
        failure = answer.failure
        is_read = failure is None or failure.kind == "unparseable"
        reply = read_completion(answer.body) if is_read else None
        billed = reply if failure is None else None  # an HTTP error is not
        tally.append((reply_usage(answer.calls, billed, self.price), answer.duration_ms))
        if reply is None:
            instead = None if is_read else answer.instead
            return instead or _Said(outcome=failure or no_completion(answer.body))
        if billed is not None:
            await endpoint.settle(tokens, billed)
        if self._remembered is not terms.form:
            await computed(partial(self._remember, terms.form))
        outcome = reply.failure or parse_reply(terms.rubric, reply.text, question.request)
        # A repair shows the beginning of the text, which is else kept while it waits for the reply.
        reply.text = reply.text[:_KEPT_CHARS]
        return _Said(outcome=outcome, reply=reply)

    def _conclude(self, question: _Question, said: _Said, tally: _Tally) -> Judgement:
        reply, terms = said.reply or ModelReply(), question.terms
        verdict = said.outcome if isinstance(said.outcome, Verdict) else None
        failure = said.outcome if isinstance(said.outcome, JudgeFailure) else None
        judgement = Judgement(
            rubric=terms.rubric.name,
            rubric_version=terms.rubric.version,
            judge=self.identity,
            verdict=verdict,
            failure=None if failure is None else self._blotted(failure),
            usage=sum_usage(usage for usage, _ in tally),
            level=terms.form.level,
            prompt_hash=question.prompt.sha256,
            model=reply.model,
            system_fingerprint=reply.system_fingerprint,
            parameters=terms.parameters,
            dropped_parameters=terms.form.dropped,
            repaired=said.repaired,
            truncated_chunk_ids=question.prompt.truncated_chunk_ids,
            duration_ms=sum((ms for _, ms in tally), 0.0),
        )
        return judgement if verdict is None else self._keep(question.key, judgement)

    def _blotted(self, failure: JudgeFailure) -> JudgeFailure:
        raw, blot = failure.raw, self._endpoint.blot
        facts = failure.facts.items()
        return replace(
            failure,
            message=blot(failure.message),
            raw=None if raw is None else blot(raw),
            facts={n: blot(fact) if isinstance(fact, str) else fact for n, fact in facts},
        )

    # --- remembering -----------------------------------------------------------------------

    def _recall(self, key: str) -> Judgement | None:
        document = None if self._cache is None else self._cache.get(key)
        return None if document is None else judgement_of(document)

    def _keep(self, key: str, judgement: Judgement) -> Judgement:
        document, secrets = document_of(judgement), self._endpoint.secrets
        # A server may echo its request.
        said = text_of(judgement)
        echoed = blot_out(said, secrets) != said
        public = blot_out_of_reply(document, secrets) if echoed else document
        if self._cache is not None:
            self._cache.put(key, public, identity=self.identity)
        kept = judgement_of(public) if echoed else None
        if kept is None:
            return judgement
        chunks, duration_ms = judgement.truncated_chunk_ids, judgement.duration_ms
        return replace(kept, truncated_chunk_ids=chunks, duration_ms=duration_ms)

    def _current_form(self) -> Form:
        if self._form is None:
            self._form = self._first_form()
        return self._form

    def _first_form(self) -> Form:
        first = first_form(self._settings)
        known = None
        if self._cache is not None:
            known = self._cache.get_level(self._endpoint.base_url, self._endpoint.model)
        form = None if known is None else form_of(known)
        if form is None:
            return first
        self._remembered = form
        if self._settings.structured_output == "auto":
            return form
        return replace(first, dropped=form.dropped)

    def _learn(self, asked: Form, changed: Form) -> None:
        """Adopt the form that follows a refused one, unless another question was first."""
        if self._form == asked:
            self._form = changed

    def _remember(self, form: Form) -> None:
        """Store an accepted form for later runs."""
        if self._cache is None or self._remembered == form or self._form != form:
            return
        self._remembered = form
        self._cache.put_level(self._endpoint.base_url, self._endpoint.model, document_of_form(form))


def _prompt_tokens(messages: Sequence[PromptMessage]) -> int:
    return count_prompt_tokens(message.text for message in messages)
