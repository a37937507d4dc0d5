"""Opening of the judges that the settings name."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from pytest_rageval.judges.spot_check import asks_second_judge
from pytest_rageval.project.discovery import cases_folder
from pytest_rageval.project.plugins import named_code
from pytest_rageval.support.http.address import blot_out_known, learn_secrets, sent_secrets
from pytest_rageval.support.http.pacing import Pacing, Sleep
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.project_code import find_named, importable
from pytest_rageval.support.text import clean, shown
from pytest_rageval.support.threads import computed, session_loop, waited_for
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge, Judgement, JudgeRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from pytest_rageval.judges.cache import JudgeCache
    from pytest_rageval.judges.model.judge import OpenAIJudge

_WHERE: Final = "[tool.rageval.judge] client"


def is_named(settings: Settings) -> bool:
    """Return whether the judge of a run is one in the project's code."""
    return settings.judging.client is not None and settings.judge == settings.judging.client


@contextmanager
def open_named_judge(settings: Settings) -> Iterator[Judge]:
    """Yield the judge, and call its ``close`` afterwards if a factory has made it.

    Raises:
        ConfigError: it does not exist, cannot be made, or is no judge.
    """
    with importable(settings.rootdir):
        where, rootdir = f"{_WHERE}: {settings.judge}", Path(settings.rootdir)
        found = named_code(partial(find_named, settings.judge, _WHERE), where, rootdir)
        made = isinstance(found, type) or not hasattr(found, "judge")
        judge = named_code(found, where, rootdir) if made and callable(found) else found
        identity = getattr(judge, "identity", None)
        if not callable(getattr(judge, "judge", None)) or not isinstance(identity, str):
            raise ConfigError.of(
                where,
                "type",
                found=shown(judge),
                expected="an object with an identity and judge(rubric, request, repeat=0), or a "
                "function or class that makes one",
            )
        try:
            yield cast(Judge, judge)
        finally:
            close = getattr(judge, "close", None)
            if judge is not found and callable(close):
                try:
                    waited_for(close())
                except Exception as error:
                    # What it said is kept: verdicts may have been paid for.
                    said = clean(blot_out_known(str(error)), 300)
                    message = f"{where}: close: {type(error).__name__}: {said}"
                    warnings.warn(message, stacklevel=1)


CACHE_FILE = "cache/judge.sqlite"
"""Below the first test path; a git-ignored folder."""


@contextmanager
def open_judge(
    settings: Settings,
    *,
    environ: Mapping[str, str],
    second: bool = False,
    sleep: Sleep = asyncio.sleep,
    slots: Slots | None = None,
) -> Iterator[Judge | None]:
    """Yield a judge and close it afterwards; None if answers are not judged, or not a second time.

    Args:
        settings: the run's settings.
        environ: source of the judge's key.
        second: whether to open the judge of the spot check. It is opened when it is first asked: a
            run may contain no case that needs it.
        sleep: pauses between a model's attempts, in seconds.
        slots: held by its requests; None: no limit.

    Raises:
        ConfigError: the judge cannot work as it is set up.
        StorageError: its cache cannot be read.
    """
    pacing = Pacing(sleep=sleep, slots=slots)
    if not settings.judged or (second and not asks_second_judge(settings)):
        yield None
    elif second:
        alternate, own = settings.judging.spot_check_model is None, second_settings(settings)
        open_second = partial(_open, own, environ, pacing, alternate=alternate)
        with ExitStack() as stack:
            yield _Unopened(lambda: stack.enter_context(open_second()))
    else:
        with _open(settings, environ, pacing) as judge:
            yield judge


@contextmanager
def _open(
    settings: Settings, environ: Mapping[str, str], pacing: Pacing, *, alternate: bool = False
) -> Iterator[Judge]:
    if settings.judge == "offline":
        from pytest_rageval.judges.offline.judge import OfflineJudge

        yield OfflineJudge()
    elif is_named(settings):
        with open_named_judge(settings) as named:
            yield named
    else:
        # Answers may hold what the target was sent, and a judge may repeat it.
        learn_secrets(sent_secrets(settings.target, environ))
        with open_model(settings, environ, pacing=pacing, alternate=alternate) as judge:
            yield judge


def judging_slots(settings: Settings) -> Slots:
    """Return slots for the judging of answers that are there: one, unless a model is asked."""
    return Slots(settings.concurrency if settings.judged and settings.judge != "offline" else 1)


def check_offline(settings: Settings) -> None:
    """Refuse rubrics in use that the offline judge of a run does not have.

    Raises:
        ConfigError: names the first of them.
    """
    if settings.judge == "offline" and not settings.retrieval_only:
        from pytest_rageval.judges.offline.judge import check_rubrics

        check_rubrics(settings.judging.rubrics)


@contextmanager
def open_model(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    pacing: Pacing | None = None,
    alternate: bool = False,
    needs_key: bool = True,
) -> Iterator[OpenAIJudge]:
    """Yield the model that the settings name, with its cache, and close both afterwards.

    Args:
        settings: the run's settings, which name a model.
        environ: source of the judge's key.
        pacing: of its requests.
        alternate: whether to ask in the other wording of the rubrics.
        needs_key: False: it will only plan.

    Raises:
        ConfigError: the judge cannot work as it is set up.
        StorageError: its cache cannot be read.
    """
    # Rubrics here as well, before there are threads: where pytest parses what it loads, Python
    # 3.11 can do so on one thread only.
    from pytest_rageval.judges.model.endpoint import ChatEndpoint
    from pytest_rageval.judges.model.judge import OpenAIJudge
    from pytest_rageval.judges.rubrics import load as rubric  # noqa: F401

    with (
        given_client(settings) as given,
        open_cache(settings) as cache,
        OpenAIJudge(
            ChatEndpoint(
                settings.judge,
                settings.judging,
                environ=environ,
                needs_key=needs_key,
                pacing=pacing,
                given=given,
            ),
            cache=cache,
            alternate=alternate,
            rubric_root=Path(settings.rootdir),
        ) as judge,
    ):
        yield judge


def given_client(settings: Settings) -> AbstractContextManager[AsyncOpenAI | None]:
    """Open the client of the openai package that the settings name; None: they name none.

    Raises:
        ConfigError: it cannot be made, or is another object.
    """
    if settings.judging.openai_client is None:
        return nullcontext()
    from pytest_rageval.judges.model.chat_client import open_given

    return open_given(settings)


def second_settings(settings: Settings) -> Settings:
    """Return the settings of the second judge; prices and extra fields are its own model's."""
    judging, model = settings.judging, settings.judging.spot_check_model
    if model is None:
        return settings
    judging = replace(judging, input_per_mtok=None, output_per_mtok=None, extra_body={})
    return replace(settings, judge=model, judging=judging)


class _Unopened:
    """A judge opened at its first question."""

    takes_slots = True

    def __init__(self, opening: Callable[[], Judge]) -> None:
        self._opening = opening
        self._opened: Judge | None = None

    @property
    def identity(self) -> str:
        return self._judge().identity

    @property
    def cache_warning(self) -> str | None:
        """Warning of the opened judge about its cache."""
        warning: str | None = getattr(self._opened, "cache_warning", None)
        return warning

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        return session_loop().run(self.judge_on_loop(rubric, request, repeat=repeat))

    async def judge_on_loop(
        self, rubric: str, request: JudgeRequest, *, repeat: int = 0
    ) -> Judgement:
        judge = await computed(self._judge)
        on_loop = getattr(judge, "judge_on_loop", judge.judge)
        found = on_loop(rubric, request, repeat=repeat)
        judgement: Judgement = await found if inspect.isawaitable(found) else found
        return judgement

    def forget(self) -> None:
        """Discard the form of request that a model's endpoint was found to accept."""
        forget = getattr(self._opened, "forget", None)
        if forget is not None:
            forget()

    def _judge(self) -> Judge:
        if self._opened is None:
            self._opened = self._opening()
        return self._opened


@contextmanager
def open_cache(settings: Settings) -> Iterator[JudgeCache | None]:
    """Yield the cache of verdicts and close it afterwards; None if the cache is off.

    Raises:
        ConfigError: its URL is wrong.
        StorageError: it cannot be read.
    """
    if settings.judging.no_cache:
        yield None
        return
    from pytest_rageval.judges.cache import JudgeCache

    with JudgeCache(cache_place(settings)) as cache:
        yield cache


def cache_place(settings: Settings) -> Path:
    """Return the file of the cache."""
    return cases_folder(settings) / CACHE_FILE
