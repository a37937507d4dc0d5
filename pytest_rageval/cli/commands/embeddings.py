"""``rageval embeddings``: similarity figures of a stored run, from vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_rageval.cli.arguments import read_vault, run_argument, stored_run
from pytest_rageval.cli.output import (
    FILE_PATH,
    FOLDER_PATH,
    CommandError,
    face_option,
    print_result,
    switch,
    warn,
    write_page,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.text import clean

if TYPE_CHECKING:
    from pytest_rageval.analysis.embeddings import WantedTexts
    from pytest_rageval.report.view.studies import ObtainedVectors
    from pytest_rageval.values.case import Anchor
    from pytest_rageval.values.run import StoredRun

DOCUMENT = "embeddings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The options of the command line: the source of vectors, and the map."""

    url: str | None
    model: str | None
    api_key_env: str | None
    file: Path | None
    allow_cut_texts: bool
    html: Path | None
    projection: str | None
    vault: Path | None


@click.command("embeddings")
@run_argument
@click.option("--embeddings-url", "url", help="Base URL of an OpenAI-compatible API.")
@click.option("--embeddings-model", "model", help="Model of that API.")
@click.option("--embeddings-api-key-env", "api_key_env", help="Variable that holds its key.")
@click.option(
    "--vectors",
    "file",
    type=FILE_PATH,
    help="Read vectors from this JSONL file instead; nothing is sent.",
)
@switch(
    "--allow-cut-texts",
    help="Embed the stored beginnings of texts if a run did not keep them whole.",
)
@switch("--save", help=f"Write {DOCUMENT} into the folder of the run.")
@click.option(
    "--html",
    type=FILE_PATH,
    help="Write a map of chunks, golds and questions as one HTML file.",
)
@click.option(
    "--projection",
    type=click.Choice(["pca", "umap"]),
    help="Places of the map; umap needs the extra umap.  [default: pca]",
)
@click.option(
    "--vault",
    type=FOLDER_PATH,
    help="Folder of notes with the texts of golds.  [default: that of the target]",
)
@face_option
def command(run: str | None, save: bool, face: str | None, **options: Any) -> None:
    """Compare vectors of questions, chunks and languages.

    RUN is an id, a prefix of one, a tag, last, last~N or a path; by default the last run.
    Questions and chunk texts are sent only to the API that you name. With --vectors each line of
    the file is {"text" or "chunk_id": ..., "embedding": [...]}.
    """
    given = _Given(**options)
    _check(given)
    from pytest_rageval.analysis.embeddings import analyse_embeddings, compare_translations
    from pytest_rageval.report.view.studies import embedding_document, embedding_lines
    from pytest_rageval.runs.store import write_versioned

    stored = stored_run(run)
    golds = _gold_texts(stored, given.vault) if given.html else {}
    # A question that retrieved nothing has no figures, but a place on the map.
    asked = [record.case.question for record in stored.records if record.case.question.strip()]
    drawn = [*golds.values(), *asked] if given.html else []
    wanted, obtained = _obtained(stored, given, drawn)
    records, path_case = stored.records, stored.settings.path_case
    document = embedding_document(
        stored,
        wanted,
        obtained,
        analyse_embeddings(records, obtained.vectors, path_case=path_case),
        compare_translations(records, path_case=path_case),
    )
    known = any(text in obtained.vectors.by_text for text in wanted.questions)
    if given.file is not None and not known and not document["chunks"]["n_with_vector"]:
        raise CommandError.of(
            given.file, "no_vectors", n=len(wanted.questions), n_chunks=document["chunks"]["n"]
        )
    if given.html:
        _draw(stored, obtained, golds, given, document)
    if save:
        write_versioned(stored.folder, DOCUMENT, document)
    warn(*document["warnings"])
    print_result(document, embedding_lines(document), face=face)
    if given.html:
        click.echo(clean(f"written: {given.html}"), err=True)


def _check(given: _Given) -> None:
    if (given.url is None) == (given.file is None):
        raise click.UsageError("expected either --embeddings-url or --vectors")
    if given.url is not None and not given.model:
        raise click.UsageError("--embeddings-url: expected --embeddings-model beside it")
    if given.file is not None and (given.model or given.api_key_env):
        raise click.UsageError(
            "--vectors: takes neither --embeddings-model nor --embeddings-api-key-env"
        )
    if given.html is None and (given.projection or given.vault):
        raise click.UsageError("--projection and --vault: expected --html beside them")


# --- vectors -------------------------------------------------------------------------------


def _obtained(
    run: StoredRun, given: _Given, drawn: Sequence[str]
) -> tuple[WantedTexts, ObtainedVectors]:
    from pytest_rageval.analysis.embeddings import wanted_texts
    from pytest_rageval.engine.endpoint import load_vectors
    from pytest_rageval.report.view.studies import ObtainedVectors

    obtained = None
    if given.file is not None:
        named = {"kind": "file", "file": given.file.name}
        obtained = ObtainedVectors(vectors=load_vectors(given.file), source=named)
    known = {} if obtained is None else obtained.vectors.by_chunk_id
    wanted = wanted_texts(run.records, known)
    if wanted.n_cut and not known and not given.allow_cut_texts:
        raise CommandError.of(run.folder, "cut_texts", n=wanted.n_cut)
    return wanted, obtained or _ask(run.folder, given, wanted, drawn)


def _ask(folder: Path, given: _Given, wanted: WantedTexts, drawn: Sequence[str]) -> ObtainedVectors:
    from pytest_rageval.analysis.embeddings import VectorTable
    from pytest_rageval.engine.endpoint import EmbeddingsClient, ModelEndpoint
    from pytest_rageval.report.view.studies import ObtainedVectors

    if not wanted.chunks:
        raise CommandError.of(folder, "no_chunk_text")
    endpoint = ModelEndpoint(
        url=str(given.url), model=str(given.model), api_key_env=given.api_key_env
    )
    client = EmbeddingsClient(endpoint)
    embedded = client.embed([*wanted.questions, *wanted.chunks, *drawn])
    refused = f"texts refused: {embedded.n_refused}; the first: {embedded.refusal}"
    return ObtainedVectors(
        vectors=VectorTable(by_text=embedded.vectors),
        source={"kind": "endpoint", "url": client.shown, "model": given.model},
        warnings=(refused,) if embedded.n_refused else (),
    )


# --- map -----------------------------------------------------------------------------------


def _gold_texts(run: StoredRun, vault: Path | None) -> dict[Anchor, str]:
    """Return the texts of the golds, from the documents that the project knows."""
    from pytest_rageval.authoring.notes import gold_texts, read_document_notes

    settings = project_settings({})
    files = dict.fromkeys(Path(settings.rootdir) / record.file for record in run.records)
    notes = read_document_notes(files, settings.documents_loader)
    vault = vault or (Path(settings.target.vault) if settings.target.vault else None)
    if vault is not None:
        notes += read_vault(vault)
    golds = dict.fromkeys(gold for record in run.records for gold in record.case.gold_supports)
    return gold_texts(golds, notes, run.settings.path_case)


def _draw(
    run: StoredRun,
    obtained: ObtainedVectors,
    golds: Mapping[Anchor, str],
    given: _Given,
    document: dict[str, Any],
) -> None:
    """Write the map, and add its warnings to the document."""
    from pytest_rageval.analysis.embedding_map import build_map, project_pca, project_umap
    from pytest_rageval.report.html.embedding_map import render_map

    found = build_map(run.records, obtained.vectors, run.scoring, golds)
    if not found.points:
        raise CommandError.of(run.folder, "no_map")
    if found.n_golds_without_text:
        document["warnings"].append(
            f"golds without text, which the map leaves out: {found.n_golds_without_text} "
            "(--vault names a folder of notes)"
        )
    if found.n_left_out:
        document["warnings"].append(f"texts without a vector to draw: {found.n_left_out}")
    project = project_umap if given.projection == "umap" else project_pca
    if given.html is not None:
        write_page(given.html, render_map(found, project(found.vectors), document))
