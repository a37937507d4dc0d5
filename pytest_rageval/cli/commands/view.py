"""``rageval view``: the runs of the project in a browser on this machine."""

from __future__ import annotations

from contextlib import suppress

import click

from pytest_rageval.cli.arguments import run_argument
from pytest_rageval.cli.commands.run_history import project_folders, put_and_warn
from pytest_rageval.cli.keyed import announcer, print_tunnel
from pytest_rageval.cli.output import CommandError, switch, warn


@click.command("view")
@run_argument
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True,
              help="Port on 127.0.0.1; 0 takes a free one.")  # fmt: skip
@switch("--open", "open_browser", help="Open the page in the browser.")
def command(run: str | None, port: int, open_browser: bool) -> None:
    """Show all runs in a browser.

    Until Ctrl-C; RUN is shown first. The page lists the runs with their trend, compares two or
    three of them, shows each as its report, and gives and removes tags. It is served on 127.0.0.1,
    to the browser that opens the printed address. RUN is an id, a prefix of one, a tag, last or
    last~N.
    """
    from pytest_rageval.authoring.loopback import GuardedServer
    from pytest_rageval.authoring.viewing import ProjectRuns, create_app
    from pytest_rageval.report.html.links import Links
    from pytest_rageval.runs.store import list_runs, no_runs, resolve_run

    rootdir, results = project_folders()
    start = Links().home
    if run is not None:
        folder = resolve_run(results, run)
        if folder.parent.resolve() != results.resolve():
            raise CommandError.of(folder, "outside_results", folder=results)
        start = Links().run(folder.name)
    runs = ProjectRuns(results, title=rootdir.resolve().name, on_tagged=put_and_warn)
    server = GuardedServer(
        create_app(runs, start=start),
        name="view",
        port=port,
        announce=announcer("Showing the runs", open_browser=open_browser),
    )
    print_tunnel(server.port)
    if not list_runs(results):
        warn(str(no_runs(results)))
    with suppress(KeyboardInterrupt):  # the only way to end it
        server.run()
