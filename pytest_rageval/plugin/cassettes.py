"""Recording of the HTTP traffic of each case with pytest-recording, and its replay.

A plugin of its own, registered only when a session evaluates and ``--record-mode``, or
``--block-network`` beside existing cassettes, asks for it; vcrpy is imported at the first case.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from pytest_rageval.plugin.cassette_secrets import Scrubber, cassette_name, replay_environ
from pytest_rageval.plugin.items import CaseItem
from pytest_rageval.plugin.state import is_xdist_controller
from pytest_rageval.project.settings import target_kind
from pytest_rageval.support.files import shown_below, write_file
from pytest_rageval.support.text import clean
from pytest_rageval.target.opening import open_target, serve_vault
from pytest_rageval.values.errors import EndpointError, target_error
from pytest_rageval.values.settings import Settings

EMBEDDED_URL: Final = "http://rageval-embedded.localhost"
"""Address of the embedded server in cassettes, since its port differs in every run."""
MATCH_ON: Final = ("method", "scheme", "host", "port", "path", "query", "body")


def open_cassettes(
    config: pytest.Config, settings: Settings, files: Iterable[Path]
) -> Cassettes | None:
    """Return the plugin that records or replays; None if neither is requested.

    Raises:
        pytest.UsageError: cassettes are combined with workers.
    """
    mode = config.getoption("record_mode", None)
    if mode is None and not any((file.parent / "cassettes" / file.stem).is_dir() for file in files):
        return None
    if is_xdist_controller(config):
        asked = "--block-network beside cassettes" if mode is None else f"--record-mode={mode}"
        raise pytest.UsageError(
            f"{asked}: cassettes are recorded and replayed one case after the other, in one "
            "process; leave out -n (or add -n 0)"
        )
    return Cassettes(config, settings, os.environ, mode=mode or "none")


class Cassettes:
    """Hooks and fixtures of a session that records or, in the mode ``none``, replays."""

    def __init__(
        self, config: pytest.Config, settings: Settings, environ: Mapping[str, str], *, mode: str
    ) -> None:
        self.replaying = self.replayed = mode == "none"
        self.environ = replay_environ(settings, environ) if self.replaying else environ
        self._config = config
        self._settings = settings
        self._mode = mode
        self._scrubber = Scrubber(settings, environ)
        self._embedded_url: str | None = None
        self.served_at: str | None = None
        """URL of an embedded target that runs already; None: it is started on demand."""
        self._judges: list[object] = []
        self._opening = False
        self._cassette: Any = None
        """That of the case under way."""

    def is_replay(self) -> bool:
        """Whether all replies to the case under way came from its cassette."""
        cassette = self._cassette
        return bool(getattr(cassette, "rewound", False)) and not cassette.dirty

    # --- target and judges

    @contextmanager
    def open_target(self) -> Iterator[object]:
        """Yield a client for the target; the embedded server is started only to record."""
        with ExitStack() as stack:
            served_at = None
            if target_kind(self._settings) == "vault":
                served_at = EMBEDDED_URL
                if not self.replaying:
                    started = self.served_at or stack.enter_context(serve_vault(self._settings))
                    served_at = self._embedded_url = started
            settings = self._settings
            if self.replaying and settings.target.auth is not None:
                from pytest_rageval.target.documents import NO_HEADERS

                settings = replace(settings, target=replace(settings.target, auth=NO_HEADERS))
            opened = open_target(
                settings, environ=self.environ, served_at=served_at, **self._pauses()
            )
            yield stack.enter_context(opened)

    @contextmanager
    def open_judge(self, *, second: bool = False) -> Iterator[object]:
        """Yield a judge without its cache, whose answers would not be recorded."""
        from pytest_rageval.judges.opening import open_judge

        judging = replace(self._settings.judging, no_cache=True)
        if self.replaying:
            judging = replace(judging, requests_per_minute=None, tokens_per_minute=None)
        settings = replace(self._settings, judging=judging)
        with open_judge(settings, environ=self.environ, second=second, **self._pauses()) as judge:
            self._judges.append(judge)
            yield judge

    def _pauses(self) -> dict[str, Any]:
        # The next reply is already recorded.
        return {"sleep": lambda _: None} if self.replaying else {}

    # --- hooks of pytest

    def pytest_report_header(self) -> str:
        """Describe the handling of requests."""
        if self.replaying:
            return "rageval: replaying cassettes, one case after the other; nothing is sent"
        return f"rageval: recording cassettes ({self._mode}), one case after the other"

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Assign a cassette to every case whose test function does not choose one."""
        if isinstance(item, CaseItem):
            if item.get_closest_marker("default_cassette") is None:
                item.add_marker(pytest.mark.default_cassette(cassette_name(item.name)))
            if item.get_closest_marker("vcr") is None:
                item.add_marker(pytest.mark.vcr)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keep out the log of vcrpy, which holds requests and replies as they are sent."""
        logger = logging.getLogger("vcr")
        before = logger.level
        if isinstance(item, CaseItem):
            logger.setLevel(max(before, logging.WARNING))
        try:
            return (yield)
        finally:
            logger.setLevel(before)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Prepare the cassettes of cases, but not those of other tests."""
        if fixturedef.argname != "vcr" or not isinstance(request.node, CaseItem):
            return (yield)
        # The cassette lacks the requests by which a judge adapted to its server in other cases.
        for judge in self._judges:
            forget = getattr(judge, "forget", None)
            if forget is not None:
                forget()
        self._opening = True
        try:
            cassette = yield
        finally:
            self._opening = False
        self._cassette = cassette
        if hasattr(cassette, "filter_request"):
            self._explain_refusals(cassette)
        return cassette

    @pytest.hookimpl(optionalhook=True)
    def pytest_recording_configure(self, vcr: Any) -> None:
        """Configure vcrpy; a ``vcr_config`` fixture takes precedence, except for secrets."""
        if not self._opening:
            return
        vcr.match_on = MATCH_ON
        vcr.persister = _Persister(vcr.persister, self._shown, self._note_loaded)
        merged = vcr.get_merged_config

        def with_our_filters(**options: Any) -> dict[str, Any]:
            found: dict[str, Any] = merged(**options)
            # Ours come last, so that filters of the user cannot restore a secret.
            found["before_record_request"] = _chain(
                found["before_record_request"],
                _unless_of_auth,
                self._at_fixed_host,
                self._scrubber.request,
            )
            found["before_record_response"] = _chain(
                found["before_record_response"], self._scrubber.response
            )
            if self.replaying:
                from vcr.record_mode import RecordMode  # type: ignore[import-untyped]

                found["record_mode"] = RecordMode.NONE
            return found

        vcr.get_merged_config = with_our_filters

    # --- within vcrpy

    def _note_loaded(self) -> None:
        self.replayed = self.replayed or self._mode != "all"  # which asks for each reply again

    def _at_fixed_host(self, request: Any) -> Any:
        server = self._embedded_url
        if server is not None and request.uri.startswith(f"{server}/"):
            request.uri = EMBEDDED_URL + request.uri.removeprefix(server)
        return request

    def _explain_refusals(self, cassette: Any) -> None:
        """Replace vcrpy's error about a request that a cassette does not contain.

        vcrpy calls the filter of the cassette again just before it refuses a request.
        """
        filtered = cassette.filter_request

        def refuse(request: Any) -> Any:
            found = filtered(request)
            if found is not None and cassette.write_protected:
                raise self._refusal(cassette, found)
            return found

        cassette.filter_request = refuse

    def _refusal(self, cassette: Any, request: Any) -> EndpointError:
        shown = self._shown(cassette.path)
        if not cassette.rewound:
            return target_error("cassette_missing", attempts=0, cassette=shown)
        host = urlsplit(request.uri).hostname
        asked = f"{request.method} to {host}{clean(urlsplit(request.uri).path, 100)}"
        return target_error("cassette_request", attempts=0, cassette=shown, request=asked)

    def _shown(self, path: str) -> str:
        return shown_below(Path(path), self._config.rootpath)


class _Persister:
    """Persister that reads cassettes like pytest-recording and writes them atomically."""

    def __init__(self, inner: Any, shown: Any, loaded: Callable[[], None]) -> None:
        self._inner = inner
        self._shown = shown
        self._loaded = loaded

    def load_cassette(self, path: str, serializer: Any) -> Any:
        from vcr.persisters.filesystem import (  # type: ignore[import-untyped]
            CassetteNotFoundError,
        )

        try:
            found = self._inner.load_cassette(path, serializer)
        except CassetteNotFoundError:
            raise
        except Exception as error:
            lines = str(error).strip().splitlines() or ["no message"]
            pytest.fail(
                f"{self._shown(path)}: not a cassette ({type(error).__name__}: "
                f"{clean(lines[0], 160)}); delete it and record it with --record-mode=once",
                pytrace=False,
            )
        self._loaded()
        return found

    def save_cassette(self, path: str, content: Any, serializer: Any) -> None:
        from vcr.serialize import serialize  # type: ignore[import-untyped]

        text = serialize(content, serializer)
        target = Path(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_file(target, text.encode())
        except OSError as error:  # a full disk: the next answers could not be recorded either
            problem = f"{self._shown(path)}: cannot be written: {error.strerror or error}"
            advice = "once it can be, --record-mode=once records the cases that have no cassette"
            pytest.exit(f"{problem}; {advice}", returncode=pytest.ExitCode.USAGE_ERROR)


def _unless_of_auth(request: Any) -> Any:
    """Leave out what the project's code sends to get its headers: such requests hold secrets."""
    from pytest_rageval.target.documents import RUNNING

    return None if RUNNING.is_set() else request


def _chain(*functions: Any) -> Any:
    """Apply functions in order until one returns None, which means not to record."""

    def apply(value: Any) -> Any:
        for function in functions:
            if value is None:
                return None
            value = function(value)
        return value

    return apply
