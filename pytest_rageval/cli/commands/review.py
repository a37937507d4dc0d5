"""``rageval review``: a person reads answers, and groups what is wrong with them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from pytest_rageval.cli.arguments import complete_run, run_or_last, stored_run
from pytest_rageval.cli.keyed import check_web, require_terminal, run_app, serve_page, web_options
from pytest_rageval.cli.output import (
    FILE_PATH,
    CommandError,
    ExitCode,
    face_option,
    print_result,
    switch,
    warn,
    write_page,
)
from pytest_rageval.support.files import check_person
from pytest_rageval.support.text import counted
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from pytest_rageval.authoring.review.items import ReadSource, Reviews
    from pytest_rageval.values.run import AnswerReview, StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Options of the command line."""

    web: bool
    port: int
    open_browser: bool
    reviewer: str | None
    blind: bool
    random_share: float
    baseline: str | None
    labels: Path | None
    category: str | None
    rubric: str | None
    tag: bool


@click.command("review")
@click.argument("source", metavar="RUN|FILE", required=False, shell_complete=complete_run)
@web_options
@click.option("--as", "reviewer", metavar="NAME",
              help="Name of the reader.  [default: user.name of git, else the user]")  # fmt: skip
@switch("--blind", help="Hide our stage, scores and reasons.")
@click.option("--random", "random_share", type=click.FloatRange(0, 1), default=0.5,
              show_default=True, help="Least share of answers drawn at random.")  # fmt: skip
@click.option("--baseline", metavar="RUN", shell_complete=complete_run,
              help="Changed cases come early.  [default: that of the gate]")  # fmt: skip
@switch("--table", help="Print categories, errors of our stages and agreement, and exit.")
@click.option("--labels", metavar="FILE", type=FILE_PATH,
              help="Write verdicts as labels for rageval calibrate, and exit.")  # fmt: skip
@click.option("--category", metavar="NAME",
              help="With --labels: bad has this category, good does not.")  # fmt: skip
@click.option("--rubric", metavar="CATEGORY",
              help="Draft a rubric for a category in evals/rubrics, and exit.")  # fmt: skip
@switch("--tag", help="Tag the cases with failure:CATEGORY in their files, and exit.")
@face_option
def command(source: str | None, table: bool, face: str | None, **options: Any) -> ExitCode:
    """Read answers, and say what is wrong with them.

    RUN is an id, a prefix of one, a tag, last, last~N or a path, by default the last run; FILE a
    .jsonl file of cases with a response each. Verdicts are written at once to reviews/NAME.jsonl
    beside the run or the file, and a later session goes on. Exit code 130 after Ctrl-C.
    """
    wanted = _Wanted(**options)
    check_web(web=wanted.web, port=wanted.port, open_browser=wanted.open_browser)
    if face is not None and not table:
        raise click.UsageError(f"--{face}: goes with --table only")
    products = [wanted.labels is not None, wanted.rubric is not None, wanted.tag, table]
    if sum(products) > 1:
        raise click.UsageError("expected one of --table, --labels, --rubric and --tag")
    if wanted.category is not None and wanted.labels is None:
        raise click.UsageError("--category: goes with --labels only")
    found = _source(source, wanted)
    warn(*found.notes)
    if table:
        return _print_table(found, face=face)
    return _produce(found, wanted) if any(products) else _read(found, wanted)


# --- what is read ----------------------------------------------------------------------------


def _source(source: str | None, wanted: _Wanted) -> ReadSource:
    from pytest_rageval.authoring.review.items import answers_of_file, answers_of_run, source_of

    if source is not None and source.endswith(".jsonl") and (file := Path(source)).is_file():
        answers, n_without = answers_of_file(file, source)
        left = counted(n_without, "line")
        notes = (f"{source}: {left} without a response left out",) if n_without else ()
        return source_of(file, source, answers, random_share=wanted.random_share, notes=notes)
    run = stored_run(run_or_last(source, "RUN|FILE"))
    answers = answers_of_run(run, _baseline(run, wanted.baseline))
    if not answers:
        raise CommandError.of(f"run {run.run_id}", "no_answers")
    return source_of(run.folder, run.run_id, answers, random_share=wanted.random_share)


def _baseline(run: StoredRun, named: str | None) -> StoredRun | None:
    """Return the named run, or that of the gate if it is still there."""
    if named is not None:
        return stored_run(named)
    try:
        return stored_run(run.baseline.run_id) if run.baseline.run_id else None
    except StorageError:
        return None


def _reviewer(given: str | None) -> str:
    """Return the name of the reader, that of the user by default.

    Raises:
        ConfigError: no file can have the name.
    """
    import getpass
    import re

    from pytest_rageval.runs.git import run_git

    if given is not None:
        return check_person(given, "--as")
    name = run_git(Path.cwd(), "config", "user.name") or getpass.getuser()
    return check_person(re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._").lower(), "--as")


# --- reading ---------------------------------------------------------------------------------


def _read(source: ReadSource, wanted: _Wanted) -> ExitCode:
    from pytest_rageval.authoring.review.session import ReviewSession
    from pytest_rageval.runs.reviews import append_review, read_reviews

    if not wanted.web:
        require_terminal()
    name = _reviewer(wanted.reviewer)
    lines = read_reviews(source.place).get(name, ())
    session = ReviewSession(
        source,
        lines,
        lambda what: append_review(source.place, name, what),
        reviewer=name,
        blind=wanted.blind,
    )
    if not wanted.web:
        from pytest_rageval.authoring.review.screen import screen_of

        return run_app(session, partial(screen_of, session))
    from pytest_rageval.authoring.review.page import ReviewPage

    face = ReviewPage(session)
    return serve_page(face, "Reviewing", port=wanted.port, open_browser=wanted.open_browser)


# --- figures ---------------------------------------------------------------------------------


def _print_table(source: ReadSource, *, face: str | None) -> ExitCode:
    from pytest_rageval.authoring.review.items import found_in
    from pytest_rageval.report.view.judging import review_blocks

    found = found_in(source)
    if not found.figures:
        raise CommandError.of(source.name, "unread")
    print_result({"source": source.name, **to_builtins(found)}, review_blocks(found), face=face)
    return ExitCode.YES


# --- use of what was found -------------------------------------------------------------------


def _produce(source: ReadSource, wanted: _Wanted) -> ExitCode:
    reviews = _reviews_of_one(source, wanted.reviewer)
    if wanted.labels is not None:
        return _write_labels(source, reviews, wanted.labels, wanted.category)
    if wanted.rubric is not None:
        return _write_rubric(reviews, wanted.rubric)
    return _tag(source, reviews)


def _reviews_of_one(source: ReadSource, named: str | None) -> Reviews:
    """Return the verdicts of one reader: the named one, or the only one.

    Raises:
        CommandError: nobody has read the answers, or several people have and no name is given.
    """
    from pytest_rageval.analysis.review import latest_reviews
    from pytest_rageval.runs.reviews import read_reviews

    lines = read_reviews(source.place)
    if named is None and len(lines) > 1:
        raise CommandError.of(source.name, "several_readers", names=" or ".join(lines))
    name = named or next(iter(lines), "")
    reviews = latest_reviews(lines.get(name, ()), source.hashes)
    if not reviews:
        raise CommandError.of(source.name, "unread_by", who=name or "nobody")
    return reviews


def _require_category(reviews: Reviews, name: str, flag: str) -> None:
    from pytest_rageval.analysis.review import categories_of
    from pytest_rageval.support.reading import hint

    known = [*categories_of(reviews)]
    if name not in known:
        facts = hint(name, known) or {"names": ", ".join(known) or "none"}
        raise CommandError.of(f"{flag} {name!r}", "not_found", **facts)


def _write_labels(
    source: ReadSource, reviews: Reviews, path: Path, category: str | None
) -> ExitCode:
    from pytest_rageval.authoring.review.items import label_lines, rubric_name

    if category is not None:
        _require_category(reviews, category, "--category")
    lines = list(label_lines(source, reviews, category))
    write_page(path, (json.dumps(line, ensure_ascii=True) + "\n" for line in lines))
    rubric = "correctness" if category is None else f"{rubric_name(category)}.absent"
    click.echo(f"{counted(len(lines), 'label')} in {path}")
    click.echo(f"next: rageval calibrate {shlex.quote(path.as_posix())} --rubric {rubric}")
    return ExitCode.YES


def _write_rubric(reviews: Reviews, category: str) -> ExitCode:
    from pytest_rageval.authoring.review.items import rubric_name, rubric_texts

    _require_category(reviews, category, "--rubric")
    template, schema = rubric_texts(category, reviews)
    path = Path("evals/rubrics") / f"{rubric_name(category)}.jinja"
    for file, text in ((path, template), (path.with_suffix(".schema.json"), schema)):
        if file.exists():
            raise CommandError.of(file, "exists", what="file")
        write_page(file, [text])
    click.echo(
        f"drafted {path.as_posix()}: read it, then add it to rubrics in [tool.rageval.judge]"
    )
    return ExitCode.YES


def _tag(source: ReadSource, reviews: Reviews) -> ExitCode:
    from pytest_rageval.authoring.review.items import tags_after
    from pytest_rageval.project.case_edit import change_line, load_editable

    by_file: dict[str, dict[str, list[AnswerReview]]] = {}
    lines = {one.key: one.case.item for one in source.answers}
    for key, review in reviews.items():
        by_file.setdefault(key[0], {}).setdefault(lines[key], []).append(review)
    n_changed = 0
    for name, found in by_file.items():
        for one in load_editable(Path(name)).cases:
            read = found.get(one.case.id, ())
            if read and (after := tags_after(one.case.tags, read)) != one.case.tags:
                change_line(Path(name), one.line, {"tags": list(after)})
                n_changed += 1
    click.echo(f"tags of {counted(n_changed, 'case')} changed in {', '.join(by_file)}")
    return ExitCode.YES
