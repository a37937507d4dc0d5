"""Sessions that keys drive, as commands start them: in a terminal, or as a page in a browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pytest_rageval.cli.output import CommandError, ExitCode, switch
from pytest_rageval.support.text import clean

if TYPE_CHECKING:
    from pytest_rageval.authoring.keyed.app import Screen
    from pytest_rageval.authoring.keyed.page import KeyPage
    from pytest_rageval.authoring.keyed.session import KeySession


def announcer(what: str, *, open_browser: bool) -> Callable[[str], None]:
    """Return the function that prints each address, and opens the first in the browser."""
    import threading
    import webbrowser

    opened = not open_browser

    def announce(address: str) -> None:
        nonlocal opened
        click.echo(f"{what} at {address} (single-use link; Ctrl-C to stop)")
        if not opened:
            opened = True
            # A terminal browser returns only when the user quits it.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return announce


def print_tunnel(port: int) -> None:
    """Print the command that reaches the page from another machine, if the shell is remote."""
    import platform

    if os.environ.get("SSH_CONNECTION"):
        tunnel = clean(f"{port}:127.0.0.1:{port} {platform.node()}")
        click.echo(f"On your own machine, to reach it: ssh -L {tunnel}")


_Command = TypeVar("_Command", bound=Callable[..., Any])


def web_options(command: _Command) -> _Command:
    """Add ``--web``, ``--port`` and ``--open`` to a command."""
    port = click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=True,
        help="Port of --web on 127.0.0.1; 0 takes a free one.",
    )
    opens = switch("--open", "open_browser", help="Open the page of --web in the browser.")
    return switch("--web", help="A page for a browser on this machine.")(port(opens(command)))


def check_web(*, web: bool, port: int, open_browser: bool) -> None:
    """Refuse options of the page without it, and the app without a terminal or its library.

    Raises:
        click.UsageError: an option of the page is given without it.
    """
    if not web and (port or open_browser):
        raise click.UsageError(f"{'--port' if port else '--open'}: goes with --web only")


def require_terminal() -> None:
    """Refuse the app without its library, or without a terminal.

    Raises:
        CommandError: one of them is missing.
    """
    from importlib.util import find_spec

    if find_spec("textual") is None:
        raise CommandError.of(
            "the terminal app", "needs_extra", extra="label", reason="or add --web"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError.of("", "no_terminal")


def run_app(session: KeySession, look: Callable[[], Screen]) -> ExitCode:
    """Run the app to its end; ``look`` returns what a terminal shows of the session."""
    from pytest_rageval.authoring.keyed.app import KeyApp

    app = KeyApp(session, look)
    app.run()
    if app.failure is not None:
        raise app.failure
    return _report(session, interrupted=bool(app.return_code))


def serve_page(face: KeyPage[Any], doing: str, *, port: int, open_browser: bool) -> ExitCode:
    """Serve a page until its session ends.

    Args:
        face: the page.
        doing: what is done there, such as ``Labelling``.
        port: to listen on; 0 takes a free one.
        open_browser: whether the page is opened.
    """
    from pytest_rageval.authoring.keyed.page import KeyServer

    server = KeyServer(face, port=port, announce=announcer(doing, open_browser=open_browser))
    print_tunnel(server.port)
    try:
        server.run()
    except KeyboardInterrupt:
        return _report(face.session, interrupted=True)
    return _report(face.session, interrupted=False)


def _report(session: KeySession, *, interrupted: bool) -> ExitCode:
    """Print what was done, and after Ctrl-C what has unsaved changes."""
    click.echo(session.result)
    if not interrupted:
        return ExitCode.YES
    if session.unsaved:
        click.echo(f"not saved: {clean(', '.join(session.unsaved), 200)}", err=True)
    return ExitCode.INTERRUPTED
