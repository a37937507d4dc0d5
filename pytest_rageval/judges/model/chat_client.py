"""Chat completions by the client of the openai package, ours or one of the project's."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import openai

from pytest_rageval.project.plugins import named_code
from pytest_rageval.support.http.bodies import TransportError
from pytest_rageval.support.http.client import Client
from pytest_rageval.support.http.transport import WATCH, fault_of
from pytest_rageval.support.process import Closing
from pytest_rageval.support.project_code import find_named, importable
from pytest_rageval.support.text import shown
from pytest_rageval.support.threads import session_loop
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings

_WHERE: Final = "[tool.rageval.judge] openai_client"

# At their level of debugging they hold prompts.
logging.getLogger("openai._base_client").addFilter(lambda _: WATCH.get(None) is None)


class ChatClient(Closing):
    """Sends chat completions; safe to share between threads.

    Args:
        http: the connections, and the way to the endpoint.
        base_url: URL of the API, without credentials.
        api_key: the key, or any word where none is needed.
        headers: sent with every request.
    """

    def __init__(
        self, http: Client, *, base_url: str, api_key: str, headers: Mapping[str, str]
    ) -> None:
        self._http: Final = http
        if http.authorization:
            headers = {**headers, "Authorization": http.authorization}
        self._made = partial(
            openai.AsyncOpenAI,
            base_url=base_url,
            api_key=api_key,
            default_headers=headers,
            max_retries=0,
        )
        self._open: tuple[object, openai.AsyncOpenAI] | None = None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    async def _opened(self) -> openai.AsyncOpenAI:
        http: Any = await self._http.opened()  # also what a version with httpx of its own takes
        if self._open is None or self._open[0] is not http:
            self._open = http, self._made(http_client=http)
        return self._open[1]

    @asynccontextmanager
    async def asked(
        self, method: str, url: str, content: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AsyncIterator[Any]:
        """Send one request, and open its reply; the address and the headers are the client's.

        Raises:
            TransportError: no reply came.
        """
        async with _asked(await self._opened(), content) as reply:
            yield reply


class GivenClient(Closing):
    """Sends chat completions by a client that a project has made.

    Args:
        client: it keeps its own connections and address; its own attempts are not made.
    """

    def __init__(self, client: openai.AsyncOpenAI) -> None:
        self._client: Final = client.with_options(max_retries=0)

    def close(self) -> None:
        """Do nothing: who made the client closes it."""

    def asked(
        self, method: str, url: str, content: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[Any]:
        """Do as that of a ``ChatClient``."""
        return _asked(self._client, content)


@asynccontextmanager
async def _asked(client: openai.AsyncOpenAI, body: Mapping[str, Any]) -> AsyncIterator[Any]:
    create = client.chat.completions.with_streaming_response.create
    try:
        # What is in extra_body goes first; of the rest, the library looks at every value.
        async with create(model=body.get("model", ""), messages=[], extra_body=body) as reply:
            yield reply.http_response
    except openai.APIStatusError as error:
        yield error.response
    except openai.APIConnectionError as error:
        name = "ReadTimeout" if isinstance(error, openai.APITimeoutError) else "ConnectError"
        cause = error.__cause__ or error
        raise fault_of(error) or TransportError(name, str(cause)) from cause


@contextmanager
def open_given(settings: Settings) -> Iterator[openai.AsyncOpenAI]:
    """Yield the client that the settings name.

    One that a function has made is closed afterwards.

    Raises:
        ConfigError: it does not exist, cannot be made, or is no asynchronous client of openai.
    """
    setting = settings.judging.openai_client
    assert setting is not None
    with importable(settings.rootdir):
        where, rootdir = f"{_WHERE}: {setting}", Path(settings.rootdir)
        found = named_code(partial(find_named, setting, _WHERE), where, rootdir)
        is_client = isinstance(found, (openai.AsyncOpenAI, openai.OpenAI))
        client = found if is_client or not callable(found) else named_code(found, where, rootdir)
        if not isinstance(client, openai.AsyncOpenAI):
            raise ConfigError.of(
                where,
                "type",
                found=shown(client),
                expected="an AsyncOpenAI or AsyncAzureOpenAI of the openai package, or a function "
                "that makes one",
            )
        try:
            yield client
        finally:
            if client is not found:
                session_loop().run(client.close())
