"""A page that a command serves to a browser on this machine: its address, and the way to it."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from pytest_rageval.support.text import clean


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
