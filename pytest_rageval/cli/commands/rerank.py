"""``rageval rerank``: what another order of the stored candidates would give."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import run_argument, stored_run
from pytest_rageval.cli.output import CommandError, face_option, print_result, switch, warn
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.text import clean, shown

if TYPE_CHECKING:
    from pytest_rageval.analysis.rerank import Candidates, Level, Reordered
    from pytest_rageval.engine.reranking import Reranker
    from pytest_rageval.values.run import StoredRun

DOCUMENT: Final = "rerank.json"
BEFORE: Final = "before reranking"
_EMBEDDED: Final = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The options of the command line."""

    rerankers: tuple[str, ...]
    model: str | None
    api_key_env: str | None
    ks: tuple[int, ...]
    main: int | None
    level: Level
    concurrency: int
    price: float | None
    allow_cut_texts: bool


@click.command("rerank")
@run_argument
@click.option(
    "--reranker",
    "rerankers",
    multiple=True,
    metavar="NAME",
    help="URL of a /rerank endpoint in the shape of Cohere or Jina, module:function of the "
    "project, or embedded; may be repeated.",
)
@click.option("--model", help="Model of the endpoints.")
@click.option("--api-key-env", help="Variable that holds the key of the endpoints.")
@click.option(
    "-k", "ks", type=click.IntRange(1), multiple=True, help="Cutoff; may be repeated.  [1 3 5 10]"
)
@click.option(
    "--at",
    "main",
    type=click.IntRange(1),
    help="Cutoff of categories and broken cases.  [default: the k of the run]",
)
@click.option(
    "--level",
    type=click.Choice(["anchor", "document"]),
    default="anchor",
    show_default=True,
    help="Golds are sections, or whole documents.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Queries at a time to an endpoint.",
)
@click.option("--price", type=click.FloatRange(0), help="USD for 1,000 queries to each reranker.")
@switch(
    "--allow-cut-texts",
    help="Send the stored beginnings of texts if a run did not keep them whole.",
)
@switch("--save", help=f"Write {DOCUMENT} and a section of the report.")
@face_option
def command(run: str | None, save: bool, face: str | None, **given: Any) -> None:
    """Compare orders of the chunks that a run retrieved.

    RUN is an id, a prefix of one, a tag, last, last~N or a path; by default the last run. Shown
    are the delivered order, the ceiling that the best order of the same chunks reaches, and the
    order of each named reranker. Questions and chunk texts are sent only to endpoints that you
    name. A function is called as function(query, documents) and returns one score for each.
    """
    from pytest_rageval.report.view.rerank import rerank_lines

    chosen = _Given(**given)
    if chosen.price is not None and not isfinite(chosen.price):
        raise click.UsageError(f"--price: got {chosen.price}, expected a number of USD")
    if chosen.price is not None and not chosen.rerankers:
        raise click.UsageError("--price: expected a --reranker beside it, which costs that much")
    stored = stored_run(run)
    document = _document(stored, chosen)
    if save:
        _save(stored, document)
    if face is not None:
        warn(*document["warnings"])
    print_result(document, rerank_lines(document), face=face)


def _document(run: StoredRun, given: _Given) -> dict[str, Any]:
    from pytest_rageval.analysis.rerank import CUTOFFS, read_candidates, study_order, tabulate
    from pytest_rageval.report.view.rerank import NamedOrder, rerank_document

    cases, left_out = read_candidates(
        run.records, path_case=run.settings.path_case, level=given.level
    )
    if given.rerankers:
        cases, textless = _with_texts(cases, allow_cut=given.allow_cut_texts)
        left_out.update(textless)
    if not cases:
        reasons = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
        raise CommandError.of(run.folder, "no_candidates", reason=reasons or "empty")
    most = max(len(case.chunks) for case in cases)
    main = given.main or min(run.scoring.k, max(most, 1))
    ks = sorted({main, *(given.ks or [k for k in CUTOFFS if k <= most])})
    table = tabulate(cases, ks, main)
    orders = []
    earlier = {case.key: order for case in cases if (order := case.before()) is not None}
    if any(earlier.values()):  # a case without chunks has the empty order
        orders.append(
            NamedOrder(name=BEFORE, source={"kind": "reported"}, study=study_order(table, earlier))
        )
    for name in given.rerankers:
        obtained, source = _obtained(name, cases, given)
        orders.append(
            NamedOrder(
                name=source.get("model") or name,
                source=source,
                study=study_order(table, obtained.orders),
                obtained=obtained,
            )
        )
    return rerank_document(run.run_id, table, orders, left_out, price=given.price)


def _with_texts(
    cases: Sequence[Candidates], *, allow_cut: bool
) -> tuple[list[Candidates], dict[str, int]]:
    """Leave out cases that hold a chunk without text.

    Raises:
        CommandError: a text is only the beginning of its passage, and that was not allowed.
    """
    n_cut = sum(chunk.text_truncated for case in cases for chunk in case.chunks)
    if n_cut and not allow_cut:
        raise CommandError.of("", "cut_texts", n=n_cut)
    kept = [case for case in cases if all(chunk.text for chunk in case.chunks)]
    missing = len(cases) - len(kept)
    return kept, {"a chunk without text": missing} if missing else {}


def _obtained(
    name: str, cases: Sequence[Candidates], given: _Given
) -> tuple[Reordered, dict[str, Any]]:
    from pytest_rageval.engine.reranking import reorder

    with _opened(name, given) as (reranker, source), _progress(name, len(cases)) as advance:
        return reorder(cases, reranker, on_answer=advance), source


@contextmanager
def _progress(name: str, n: int) -> Iterator[Callable[[], None]]:
    """Draw a bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(range(n), label=clean(name, 40), file=sys.stderr) as bar:
        yield partial(bar.update, 1)


@contextmanager
def _opened(name: str, given: _Given) -> Iterator[tuple[Reranker, dict[str, Any]]]:
    from pytest_rageval.engine.endpoint import ModelEndpoint
    from pytest_rageval.engine.reranking import EndpointReranker, FunctionReranker
    from pytest_rageval.support.project_code import find_named, importable

    settings = project_settings({})
    with ExitStack() as stack:
        if ":" in name and "//" not in name:
            stack.enter_context(importable(settings.rootdir))
            function = find_named(name, "--reranker")
            yield FunctionReranker(name, function, settings), {"kind": "function", "function": name}
            return
        url, model = name, given.model
        if name != _EMBEDDED and "//" not in name:
            raise click.UsageError(
                f"--reranker: got {shown(name)}, expected a URL, module:function or {_EMBEDDED}"
            )
        if name == _EMBEDDED:
            from pytest_rageval.target.opening import serve_vault

            url, model = stack.enter_context(serve_vault(settings)), None
        endpoint = ModelEndpoint(url=url, model=model, api_key_env=given.api_key_env)
        opened = EndpointReranker(endpoint, concurrency=given.concurrency)
        stack.enter_context(opened)
        address = None if name == _EMBEDDED else opened.shown
        yield opened, {"kind": "endpoint", "url": address, "model": model}


def _save(run: StoredRun, document: dict[str, Any]) -> None:
    from pytest_rageval.report.view.rerank import TITLE, rerank_section
    from pytest_rageval.runs.store import SECTIONS, write_document, write_versioned
    from pytest_rageval.values.own_code import ShownSections

    others = [one for one in run.sections if one.title != TITLE]
    write_versioned(run.folder, DOCUMENT, document)
    sections = ShownSections(sections=(*others, rerank_section(document)))
    write_document(run.folder, SECTIONS, sections)
