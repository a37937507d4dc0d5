"""Questions to clients, as a command asks them: on the session's loop, from this thread."""

from __future__ import annotations

from typing import Any

from pytest_rageval.support.http.exchange import Reply, Request, Sender, send
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.calling import call_client
from pytest_rageval.values.reply import AskRequest, AskResult


def ask_client(client: object, request: AskRequest, **options: Any) -> AskResult:
    """Ask a client once; options are those of ``call_client``."""
    return session_loop().run(call_client(client, request, **options))


def exchanged(http: Sender, request: Request) -> Reply:
    """Send one request and read its reply."""
    return session_loop().run(send(http, request))
