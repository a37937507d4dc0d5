"""``rageval embeddings``: similarity figures of a stored run, from vectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.cli.assumed import run_or_last
from pytest_rageval.cli.completion import complete_run
from pytest_rageval.cli.output import CommandError, UnreachableError, json_option, print_result
from pytest_rageval.support.text import clean
from pytest_rageval.values.dataclass import dataclass

if TYPE_CHECKING:
    from pytest_rageval.analysis.embeddings import WantedTexts
    from pytest_rageval.report.text.embeddings import ObtainedVectors
    from pytest_rageval.values.run import StoredRun

DOCUMENT = "embeddings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Source of vectors, from the command line."""

    url: str | None
    model: str | None
    api_key_env: str | None
    file: Path | None


@click.command("embeddings")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--embeddings-url", "url", help="Base URL of an OpenAI-compatible API.")
@click.option("--embeddings-model", "model", help="Model of that API.")
@click.option("--embeddings-api-key-env", "api_key_env", help="Variable that holds its key.")
@click.option(
    "--vectors",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Read vectors from this JSONL file instead; nothing is sent.",
)
@click.option(
    "--allow-cut-texts",
    is_flag=True,
    help="Embed the stored beginnings of texts if a run did not keep them whole.",
)
@click.option("--save", is_flag=True, help=f"Write {DOCUMENT} into the folder of the run.")
@json_option
def command(
    run: str | None, allow_cut_texts: bool, save: bool, as_json: bool, **given: Any
) -> None:
    """Compare questions, chunks and languages of the stored RUN.

    RUN is an id, a prefix of one, a tag, last, last~N or a path; by default the last run.
    Questions and chunk texts are sent only to the API that you name. With --vectors each line of
    the file is {"text" or "chunk_id": ..., "embedding": [...]}.
    """
    source = _Source(**given)
    _check(source)
    from pytest_rageval.report.text.embeddings import embedding_lines
    from pytest_rageval.runs.read import open_run
    from pytest_rageval.runs.store import write_document
    from pytest_rageval.values.record import SCHEMA_VERSION

    stored = open_run(run_or_last(run), os.environ)
    document = _document(stored, source, allow_cut_texts=allow_cut_texts)
    if save:
        write_document(stored.folder, DOCUMENT, {"schema_version": SCHEMA_VERSION, **document})
    for warning in document["warnings"]:
        click.echo(clean(f"warning: {warning}"), err=True)
    print_result(document, embedding_lines(document), as_json=as_json)


def _check(source: _Source) -> None:
    if (source.url is None) == (source.file is None):
        raise click.UsageError("expected either --embeddings-url or --vectors")
    if source.url is not None and not source.model:
        raise click.UsageError("--embeddings-url: expected --embeddings-model beside it")
    if source.file is not None and (source.model or source.api_key_env):
        raise click.UsageError(
            "--vectors: takes neither --embeddings-model nor --embeddings-api-key-env"
        )


# --- vectors -------------------------------------------------------------------------------


def _document(run: StoredRun, source: _Source, *, allow_cut_texts: bool) -> dict[str, Any]:
    from pytest_rageval.analysis.embeddings import (
        analyse_embeddings,
        compare_translations,
        wanted_texts,
    )
    from pytest_rageval.engine.vectors import load_vectors
    from pytest_rageval.report.text.embeddings import ObtainedVectors, embedding_document

    obtained = None
    if source.file is not None:
        named = {"kind": "file", "file": source.file.name}
        obtained = ObtainedVectors(vectors=load_vectors(source.file), source=named)
    known = {} if obtained is None else obtained.vectors.by_chunk_id
    records, path_case = run.records, run.settings.path_case
    wanted = wanted_texts(records, known)
    if wanted.n_cut and not known and not allow_cut_texts:
        raise CommandError(
            f"{run.folder}: {wanted.n_cut} of {len(wanted.chunks)} chunk texts are stored cut; run "
            "the cases again, or add --allow-cut-texts to go on with them"
        )
    if obtained is None:
        obtained = _ask(run.folder, source, wanted)
    return embedding_document(
        run,
        wanted,
        obtained,
        analyse_embeddings(records, obtained.vectors, path_case=path_case),
        compare_translations(records, path_case=path_case),
    )


def _ask(folder: Path, source: _Source, wanted: WantedTexts) -> ObtainedVectors:
    from pytest_rageval.analysis.embeddings import VectorTable
    from pytest_rageval.engine.endpoint import ModelEndpoint
    from pytest_rageval.engine.vectors import EmbeddingsClient
    from pytest_rageval.report.text.embeddings import ObtainedVectors
    from pytest_rageval.values.errors import EndpointError

    if not wanted.chunks:
        raise CommandError(f"{folder}: no record holds the text of a chunk, so nothing was sent")
    endpoint = ModelEndpoint(
        url=str(source.url), model=str(source.model), api_key_env=source.api_key_env
    )
    client = EmbeddingsClient(endpoint)
    try:
        embedded = client.embed([*wanted.questions, *wanted.chunks])
    except EndpointError as error:
        raise UnreachableError(str(error)) from error
    refused = f"texts refused: {embedded.n_refused}; the first: {embedded.refusal}"
    return ObtainedVectors(
        vectors=VectorTable(by_text=embedded.vectors),
        source={"kind": "endpoint", "url": client.shown, "model": source.model},
        warnings=(refused,) if embedded.n_refused else (),
    )
