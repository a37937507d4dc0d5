"""Questions to a model other than for verdicts, sent in the same way as to a judge."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.judges.cost import count_prompt_tokens
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.wire import (
    ModelReply,
    first_form,
    no_completion,
    read_completion,
    request_body,
)
from pytest_rageval.support.http.pacing import Pacing, Sleep
from pytest_rageval.support.process import Closing
from pytest_rageval.support.threads import session_loop
from pytest_rageval.values.settings import JudgeSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class ChatModel(Closing):
    """A model behind an OpenAI-compatible API; usable as a context manager, on one thread.

    Args:
        model: its name as the endpoint knows it.
        settings: address, key, limits and parameters, as of a judge.
        environ: source of the key, read once.
        sleep: pauses between attempts, in seconds.
        given: client of the openai package that carries the requests; None: one of ours.

    Raises:
        ConfigError: the URL or a limit is wrong, or the key is missing.
    """

    def __init__(
        self,
        model: str,
        settings: JudgeSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        sleep: Sleep = asyncio.sleep,
        given: AsyncOpenAI | None = None,
    ) -> None:
        self._settings = settings
        pacing = Pacing(sleep=sleep)
        self._endpoint = ChatEndpoint(model, settings, environ=environ, pacing=pacing, given=given)
        self.identity: Final = self._endpoint.identity
        """Model and host, such as ``gpt-4o-2024-08-06 at api.openai.com``."""
        self._form = first_form(settings)

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def ask(
        self,
        system: str,
        user: str,
        *,
        name: str = "reply",
        schema: Mapping[str, Any] | None = None,
    ) -> ModelReply:
        """Ask one question; failures are data.

        Args:
            system: instructions; they must describe the shape of the reply, for endpoints that
                take no schema.
            user: the text to work on.
            name: name of the schema.
            schema: JSON schema of the reply; None: plain text.
        """
        expected = count_prompt_tokens([system, user]) + self._settings.max_tokens
        while True:
            form = self._form if schema is not None else replace(self._form, level="text")
            messages = (("system", system), ("user", user))
            model, settings = self._endpoint.model, self._settings
            body = request_body(model, messages, form, settings, name, schema)
            answer = session_loop().run(self._endpoint.ask(body, expected, form))
            if (other := answer.instead) is None:
                if answer.failure is not None:
                    return ModelReply(failure=answer.failure)
                if (reply := read_completion(answer.body)) is None:
                    return ModelReply(failure=no_completion(answer.body))
                session_loop().run(self._endpoint.settle(expected, reply))
                return reply
            kept = self._form.level if schema is None else other.level
            self._form = replace(other, level=kept)
