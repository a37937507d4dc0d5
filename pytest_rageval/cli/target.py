"""The configured target, opened for a command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.values.errors import ConfigError, RagEvalError

if TYPE_CHECKING:
    from pytest_rageval.support.slots import Slots
    from pytest_rageval.values.reply import ErrorInfo
    from pytest_rageval.values.settings import Settings


@contextmanager
def opened_target(
    settings: Settings, *, served_at: str | None = None, slots: Slots | None = None
) -> Iterator[object]:
    """Yield a client for the target of the settings, and close it afterwards.

    Args:
        settings: of the project.
        served_at: URL of the embedded target, if it is up already.
        slots: requests in flight; None: no limit.

    Raises:
        ConfigError: the settings are wrong, or code that they name raised; then with its place.
    """
    from pytest_rageval.project.settings import no_target, target_kind
    from pytest_rageval.target.opening import open_target

    if served_at is None and target_kind(settings) == "none":
        raise no_target(settings)
    with ExitStack() as stack:
        with _faults_as_settings(settings):
            client = stack.enter_context(
                open_target(settings, environ=os.environ, served_at=served_at, slots=slots)
            )
        yield client
        with _faults_as_settings(settings):  # of its close
            stack.close()


@contextmanager
def _faults_as_settings(settings: Settings) -> Iterator[None]:
    from pytest_rageval.target.calling import raised_error

    try:
        yield
    except RagEvalError:
        raise
    except Exception as error:
        key = "client" if settings.target.url is None else "auth"
        text = raised_text(raised_error(error, Path(settings.rootdir)))
        raise ConfigError.of(f"[tool.rageval.target] {key}", "invalid", reason=text) from error


def raised_text(error: ErrorInfo) -> str:
    """Return an exception of the project's code, followed by the lines of its place."""
    return "\n".join(filter(None, (error.message, error.traceback)))
