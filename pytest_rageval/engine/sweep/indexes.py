"""The target at each index of a sweep: the embedded server, or an index that a command builds."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.sweep.plan import value_text
from pytest_rageval.project.settings import target_kind
from pytest_rageval.runs.store import read_json, write_document
from pytest_rageval.support.files import named_errors
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.support.process import Closing
from pytest_rageval.support.text import clean
from pytest_rageval.target.opening import embedded_config, serve_vault
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError
from pytest_rageval.values.settings import Settings

VARIABLE: Final = "RAGEVAL_SWEEP_"
"""Beginning of the variables that hold the values of an index."""
_BUILT: Final = "built.json"
_LOG: Final = "build.log"
_SHOWN_LINES: Final = 20


class BuildError(RagEvalError):
    """An index could not be built."""

    output = ""
    """The last lines of what the command wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedTarget:
    """The target at one index."""

    settings: Settings
    """Of questions to it."""
    client: object


class Indexes(Closing):
    """Opens the target at one index after the other; each is built once.

    Servers of the embedded kind stay up side by side until this is closed. A command replaces the
    index that was built before, so that all questions to one index come before the next.

    Args:
        settings: of the sweep.
        command: builds the index of the values in its environment; None: the embedded server does,
            or there is nothing to build.
        folder: of the sweep, for the output of the command and the values that it built last.
        slots: requests in flight.
        environ: of the command.
        opening: opens the target of settings, like ``open_target``, with ``served_at`` and
            ``slots``.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        command: str | None,
        folder: Path,
        slots: Slots,
        environ: Mapping[str, str],
        opening: Callable[..., AbstractContextManager[object]],
    ) -> None:
        self._settings = settings
        self._command = command
        self.folder = folder
        self._slots = slots
        self._environ = environ
        self._opening = opening
        self._stack = ExitStack()
        self._open: dict[str, IndexedTarget] = {}
        self.n_built = 0
        """Builds so far in this process."""

    @property
    def in_place(self) -> bool:
        """Whether an index replaces the one before."""
        return self._command is not None

    def close(self) -> None:
        """Stop the servers and close the clients."""
        self._stack.close()

    def at(self, values: Mapping[str, Any], *, asked: bool = True) -> IndexedTarget:
        """Return the target at the index of these values, which is built if it does not stand.

        Args:
            values: of the index.
            asked: False where nothing is to be asked, so that a command need not build it again.

        Raises:
            BuildError: the command failed.
            ConfigError: the target cannot be opened, or the server refuses a value.
            StorageError: the folder of the sweep cannot be written.
        """
        name = json.dumps(values, sort_keys=True)
        if self._command is not None and values and asked:
            self._build(self._command, values)
        if name not in self._open:
            self._open[name] = self._opened(values)
        return self._open[name]

    def _opened(self, values: Mapping[str, Any]) -> IndexedTarget:
        settings, served_at = self._settings, None
        if self._command is not None and values:
            version = settings.index_build_version or index_name(values)
            settings = replace(settings, index_build_version=version)
        elif values:
            settings = embedded_at(settings, values)
        if target_kind(settings) == "vault":
            served_at = self._stack.enter_context(serve_vault(settings))
            self.n_built += 1
        client = self._stack.enter_context(
            self._opening(settings, served_at=served_at, slots=self._slots)
        )
        return IndexedTarget(settings=settings, client=client)

    def _build(self, command: str, values: Mapping[str, Any]) -> None:
        built = {"command": command, "values": dict(values)}
        with suppress(StorageError):  # nothing has been built so far
            if read_json(self.folder / _BUILT) == built:
                return
        self.n_built += 1
        write_document(self.folder, _BUILT, {})  # whatever stands is about to be replaced
        code, output = self._run(command, values)
        if code:
            lines = [clean(line) for line in output.splitlines()]
            end = "\n".join(f"  {line}" for line in lines[-_SHOWN_LINES:]) or "  (no output)"
            error = BuildError.of(
                "",
                "build_failed",
                found=repr(command),
                index=index_name(values),
                n=code,
                file=self.folder / _LOG,
            )
            error.output = end
            raise error
        write_document(self.folder, _BUILT, built)

    def _run(self, command: str, values: Mapping[str, Any]) -> tuple[int, str]:
        """Run the command; return its exit code and what it wrote."""
        log = self.folder / _LOG
        head = f"$ {command}   ({index_name(values)})\n"
        with named_errors(log, StorageError), log.open("ab", buffering=0) as output:
            output.write(head.encode())
            process = subprocess.Popen(
                command,
                shell=True,
                cwd=self._settings.rootdir,
                env={**self._environ, **variables(values)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait()
            except BaseException:
                process.terminate()
                if os.name == "posix":  # the shell alone would leave its command running
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGTERM)
                raise
        return code, log.read_text("utf-8", "replace").rpartition(head)[2]


def embedded_at(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings of the embedded server at an index.

    Raises:
        ConfigError: the target is another one, or the server refuses a value.
    """
    if target_kind(settings) != "vault":
        raise ConfigError.of("index.build", "not_embedded")
    embedded = {**settings.target.embedded, **values}
    settings = replace(settings, target=replace(settings.target, embedded=embedded))
    embedded_config(settings, where=f"index {index_name(values)}")
    return settings


def variables(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables of the values of an index.

    >>> variables({"chunk_tokens": 200, "title boost": True})
    {'RAGEVAL_SWEEP_CHUNK_TOKENS': '200', 'RAGEVAL_SWEEP_TITLE_BOOST': 'true'}
    """
    return {
        VARIABLE + re.sub(r"\W", "_", name).upper(): value_text(value)
        for name, value in values.items()
    }


def index_name(values: Mapping[str, Any]) -> str:
    """Name an index: ``chunk_tokens=200, overlap=20``."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in values.items())
