"""Checks of the judge by the requests of a run, without the cache."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.trust.admission import labels_wanted, languages
from pytest_rageval.analysis.trust.calibration import LABELS
from pytest_rageval.authoring.doctor.findings import Finding, Findings, missing_variable
from pytest_rageval.judges.calibrations import read_admissions
from pytest_rageval.judges.cost import count_prompt_tokens
from pytest_rageval.judges.model.chat import ChatModel
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.wire import ModelReply
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.judges.opening import check_offline, given_client, is_named, open_named_judge
from pytest_rageval.support.http.pacing import Pacing
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Case
from pytest_rageval.values.diagnoses.judge import judge_advice
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings, Settings
from pytest_rageval.values.verdict import (
    NOT_ADMITTED,
    RUBRICS,
    Admissions,
    Judgement,
    JudgeRates,
    JudgeRequest,
    Passage,
)

_FOUND: Final = Findings("judge")
_PASSAGE: Final = "The north gate opens at 8:15 and closes at 17:40."
_REQUEST: Final = JudgeRequest(
    question="When does the north gate open?",
    answer="The north gate opens at 8:15 [1].",
    context=(Passage(text=_PASSAGE, rel_path="gates.md", heading_path="# Gates"),),
    expected_key_facts=("8:15",),
    expected_answer="At 8:15.",
)
"""An answer that any judge can rate under every rubric."""

_LOWER_LEVELS: Final = {
    "json_object": "the server takes no schema: replies may break it and cost a repair turn",
    "text": "the server takes no response format: replies are read from plain text",
}


def check_judge(
    settings: Settings,
    cases: Sequence[Case] = (),
    *,
    environ: Mapping[str, str],
    probe_chars: int,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Finding]:
    """Check the judge in the settings; a model is sent requests.

    Args:
        settings: of the project.
        cases: of the project, in whose languages the judge is to be admitted.
        environ: contains its key.
        probe_chars: length of the long prompt; 0: it is not sent.
        sleep: pauses between attempts, in seconds.
    """
    if settings.judge == "offline":
        yield (found := _offline(settings))
        if found.level == "ok":
            offline = OfflineJudge()
            asked = [offline.judge(rubric, _REQUEST) for rubric in settings.judging.rubrics]
            yield from _admitted(asked, settings, cases)
        return
    if is_named(settings):
        try:
            with open_named_judge(settings) as judge:
                yield _FOUND.ok(judge.identity, f"made by {settings.judge}; it was not asked")
        except ConfigError as error:
            yield _FOUND.fail("client", str(error), "fix it, or name another judge")
        return
    if settings.judge == "none":
        fix = 'set judge = "offline" or name a model with --judge'
        yield _FOUND.warn("none", "answers are not judged", fix)
        return
    # A user is waiting at the terminal: one retry is enough.
    judging = replace(settings.judging, retries=min(settings.judging.retries, 1))
    try:
        asked = yield from _asked(settings, judging, environ, probe_chars, sleep)
    except ConfigError as error:
        fix = "set it in [tool.rageval.judge], or by --judge-base-url and --judge-api-key-env"
        fix = missing_variable(error) or fix
        yield _FOUND.fail("settings", str(error), fix)
    else:
        yield from _admitted(asked, settings, cases)


def _admitted(
    asked: Iterable[Judgement], settings: Settings, cases: Sequence[Case]
) -> Iterator[Finding]:
    """Say under which rubrics the judge may decide, and how it is admitted under the others."""
    known = read_admissions(settings)
    for problem in known.problems:
        yield _FOUND.warn("admission", problem, "write it anew, or delete it")
    declared = [case.language for case in cases]
    spoken = sorted(set(languages(declared, [case.question for case in cases])))
    for one in asked:
        if one.verdict is None:
            continue
        own = one.rubric not in RUBRICS
        for name in one.verdict.scores if own else [one.rubric]:
            lacking = [code for code in spoken if not known.admit(one, name, code)]
            if own or name in LABELS:
                yield _admission(one, name, spoken, lacking, known)


def _admission(
    one: Judgement, name: str, spoken: Sequence[str], lacking: Sequence[str], known: Admissions
) -> Finding:
    if not lacking:
        return _FOUND.ok("admission", f"{name}, {', '.join(spoken)}: judge admitted")
    found = known.find(one.judge, {name}, one.rubric_version)
    of_people = None if found is None or found.bundled else found.test.get(lacking[0])
    bad, good = labels_wanted(of_people, known.bar)
    refused = found is not None and (found.test.get(lacking[0]) or JudgeRates()).reach(known.bar)
    how = "change its rubric, or name another judge: more labels do not admit this one"
    if bad is not None and good is not None and not refused:
        how = (
            f"to admit it, label at least {bad} bad and {good} good answers of your system, and "
            f"run `rageval calibrate FILE --rubric {name} --save`"
        )
    # Limits decide all the same, so that nothing is wrong with the project.
    return _FOUND.ok("admission", f"{name}, {', '.join(lacking)}: {NOT_ADMITTED}; {how}")


def _offline(settings: Settings) -> Finding:
    try:
        check_offline(settings)
    except ConfigError as error:
        # Fixtures are not seen from here.
        fix = "name a model, take the rubric away, or judge it in a fixture `judge`"
        return _FOUND.warn("rubrics", str(error), fix)
    return _FOUND.ok("offline", "deterministic, no model is asked")


def _asked(
    settings: Settings,
    judging: JudgeSettings,
    environ: Mapping[str, str],
    probe_chars: int,
    sleep: Callable[[float], None],
) -> Generator[Finding, None, list[Judgement]]:
    from pytest_rageval.judges.model.judge import OpenAIJudge
    from pytest_rageval.judges.model.memory import unpinned_alias

    asked = []
    root, pacing = Path(settings.rootdir), Pacing(sleep=sleep)
    with (
        given_client(settings) as given,
        OpenAIJudge(
            ChatEndpoint(settings.judge, judging, environ=environ, pacing=pacing, given=given),
            rubric_root=root,
        ) as judge,
    ):
        yield _pinned(unpinned_alias(settings.judge), settings.judge)
        for rubric in judging.rubrics:
            judgement = judge.judge(rubric, _REQUEST)
            asked.append(judgement)
            yield from _verdict(
                rubric, judgement, settings.judge, first=rubric == judging.rubrics[0]
            )
            if judgement.failure is not None and judgement.failure.kind == "unreachable":
                return []
    if probe_chars:
        prompt = long_prompt(probe_chars)
        with (
            given_client(settings) as given,
            ChatModel(settings.judge, judging, environ=environ, sleep=sleep, given=given) as chat,
        ):
            yield read_long_reply(prompt, chat.ask(SYSTEM, prompt))
    return asked


def _pinned(warning: str | None, model: str) -> Finding:
    if warning is None:
        return _FOUND.ok("model name", f"{model!r} names a version")
    fix = "name a dated version, so that scores of two runs can be compared"
    return _FOUND.warn("model name", f"{model!r} is an alias that may change", fix)


def _verdict(rubric: str, judgement: Judgement, model: str, *, first: bool) -> Iterator[Finding]:
    if (failure := judgement.failure) is not None:
        lost = failure.kind == "unreachable"
        fix = judge_advice(failure.code, failure.kind, failure.facts, "doctor")
        yield _FOUND.fail(rubric, failure.message, fix, unreachable=lost)
        return
    if first:
        yield _level(judgement)
        yield _served_model(judgement, model)
    repaired = " (after a repair turn)" if judgement.repaired else ""
    yield _FOUND.ok(rubric, f"a verdict in {judgement.duration_ms:.0f} ms{repaired}")


def _level(judgement: Judgement) -> Finding:
    dropped = ", ".join(judgement.dropped_parameters)
    without = part(", without {}, which the server refuses", dropped)
    if (lower := _LOWER_LEVELS.get(judgement.level)) is None:
        return _FOUND.ok("structured output", f"{judgement.level} is taken{without}")
    fix = "take a server that enforces json_schema, such as llama.cpp or vLLM"
    return _FOUND.warn("structured output", f"{judgement.level}{without}: {lower}", fix)


def _served_model(judgement: Judgement, asked: str) -> Finding:
    if (served := judgement.model) is None:
        fix = "take a server that names its model, so that a change of it is seen"
        return _FOUND.warn("served model", "the server does not name it", fix)
    if served.startswith(asked):
        return _FOUND.ok("served model", repr(served))
    fix = "make sure that the server runs the model you mean"
    return _FOUND.warn("served model", f"asked for {asked!r}, the server says {served!r}", fix)


SYSTEM: Final = (
    "The user's message holds inventory lines. Its first line and its last line each give a code "
    'of the form "code XXXX-XXXX". Reply with nothing but the two codes, first and last.'
)
_CHECK: Final = "long prompts"
_CUT_SHARE: Final = 0.5
"""A server that counts fewer than this share of the tokens estimated has cut the prompt: estimates
are off by a third, not by half."""
_FIX: Final = (
    "give the server a longer context (--ctx-size of llama.cpp, num_ctx of Ollama, "
    "--max-model-len of vLLM)"
)


def mark(end: str) -> str:
    """Return the code of one end: the same in each run, and not guessable from the text.

    >>> mark("first") != mark("last"), len(mark("first"))
    (True, 9)
    """
    digest = hashlib.sha256(f"rageval doctor {end}".encode()).hexdigest().upper()
    return f"{digest[:4]}-{digest[4:8]}"


def long_prompt(chars: int) -> str:
    """Return a text of about ``chars`` characters, with a mark at each end."""
    lines = [f"First line: code {mark('first')}."]
    size, number = len(lines[0]), 0
    while size < chars:
        number += 1
        lines.append(f"Shelf {number} holds {number * 7919 % 1000} boxes of part {number * 31}.")
        size += len(lines[-1]) + 1
    return "\n".join([*lines, f"Last line: code {mark('last')}."])


def read_long_reply(prompt: str, reply: ModelReply) -> Finding:
    """Return the finding from a reply to ``long_prompt``."""
    expected = count_prompt_tokens([SYSTEM, prompt])
    size = f"a prompt of about {expected} tokens"
    if reply.failure is not None:
        failure, fix = reply.failure, f"{_FIX}, or judge shorter answers"
        if failure.kind == "rate_limited":
            fix = judge_advice(failure.code, failure.kind, failure.facts, "doctor")
        return _FOUND.warn(_CHECK, f"no reply to {size}: {failure.message}", fix)
    codes = re.sub(r"[^0-9A-F-]", " ", reply.text.upper())
    first, last = (mark(end) in codes for end in ("first", "last"))
    counted = reply.prompt_tokens
    if counted is not None and 0 < counted < _CUT_SHARE * expected:
        message = f"{size} counted as {counted}: the server cuts it without saying so"
        return _FOUND.fail(_CHECK, message, _FIX)
    if first and last:
        return _FOUND.ok(_CHECK, f"the beginning and the end of {size} were seen")
    if first or last:
        lost = "end" if first else "beginning"
        message = f"the {lost} of {size} was not seen: it is cut without saying so"
        return _FOUND.fail(_CHECK, message, _FIX)
    fix = "take a model that follows instructions over long texts, or check the server's context"
    return _FOUND.warn(_CHECK, f"neither end of {size} was repeated, so nothing is known", fix)
