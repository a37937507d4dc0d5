"""``rageval serve``: the reference server over a folder of Markdown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from pytest_rageval.cli.arguments import target_vault
from pytest_rageval.cli.output import FOLDER_PATH, CommandError, UnreachableError
from pytest_rageval.support.http.address import blot_out_known, learn_secrets, sent_secrets
from pytest_rageval.support.text import clean
from pytest_rageval.values.settings import TargetSettings


@click.command("serve")
@click.option(
    "--vault",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of Markdown notes.  [default: the vault of the target]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--vault-name",
    help="Reported with references; other vaults are refused.  [default: the folder's name]",
)
@click.option(
    "--cache-dir",
    type=FOLDER_PATH,
    help="Folder for built indexes.  [default: build at each start]",
)
@click.option("--k", type=int, help="Number of results if a request sets none.  [default: 5]")
@click.option("--chunk-tokens", type=int, help="Longest chunk.  [default: 400]")
@click.option("--chunk-overlap", type=int, help="Tokens shared by split pieces.  [default: 50]")
@click.option(
    "--fusion",
    type=click.Choice(["weighted", "rrf"]),
    help="How the scores of words and vectors are combined.  [default: weighted]",
)
@click.option("--vector-weight", type=float, help="Weight of vector scores.  [default: 0.3]")
@click.option("--lexical-weight", type=float, help="Weight of lexical scores.  [default: 0.7]")
@click.option("--min-score", type=float, help="Drop results below it.  [default: 0]")
@click.option("--rerank", is_flag=True, default=None, help="Add the rerank stage.")
@click.option(
    "--folder-mode",
    type=click.Choice(["off", "on", "on_with_fallback"]),
    help="Folder selection if a request sets none.  [default: off]",
)
@click.option(
    "--embedder",
    type=click.Choice(["lsa", "endpoint"]),
    help="Built-in vectors, or those of a /v1/embeddings endpoint.  [default: lsa]",
)
@click.option("--embedder-url", help="Base URL of the embeddings API.")
@click.option("--embedder-model", help="Model of the embeddings API.")
@click.option("--embedder-api-key-env", help="Environment variable that holds its key.")
@click.option("--llm-url", help="Base URL of a chat API that writes the answers.")
@click.option("--llm-model", help="Model of the chat API.")
@click.option("--llm-api-key-env", help="Environment variable that holds its key.")
def command(vault: Path | None, port: int, **settings: Any) -> None:
    """Serve a folder of Markdown as an example target.

    It answers on 127.0.0.1 until Ctrl-C. The folder is indexed first; then one line with the URL is
    printed, for --rag-url of pytest.
    """
    from pydantic import ValidationError

    from pytest_rageval.server.config import ReferenceConfig, fault_text
    from pytest_rageval.server.server import ServerStartError, serve
    from pytest_rageval.server.upstream import UpstreamError
    from pytest_rageval.server.vault import VaultError

    vault = vault or target_vault("--vault")
    given = {name: value for name, value in settings.items() if value is not None}
    learn_secrets(sent_secrets(TargetSettings(embedded=given), os.environ))
    try:
        config = ReferenceConfig(vault=vault, **given)
        serve(
            config, port, lambda url: click.echo(clean(f"Serving {vault} at {url} (Ctrl-C stops)"))
        )
    except UpstreamError as error:
        raise UnreachableError(clean(blot_out_known(str(error)), 300)) from error
    except ValidationError as error:
        raise CommandError(fault_text(error)) from error
    except (VaultError, ServerStartError) as error:
        raise CommandError(str(error)) from error
