"""``rageval generate``: drafts cases from notes, for review before they count."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.arguments import read_vault, target_vault
from pytest_rageval.cli.output import FILE_PATH, PATH, CommandError, face_option, print_result
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.text import clean, counted

if TYPE_CHECKING:
    from pytest_rageval.authoring.generation.generate import Generated
    from pytest_rageval.judges.model.chat import ChatModel

_WISHES: Final = ("seed", "limit", "talks", "unanswerable", "withheld")
"""Options that say which cases are drafted, by the names that ``Wish`` gives them."""


@click.command("generate")
@click.argument("vault", required=False, type=PATH)
@click.option(
    "-o",
    "--output",
    default=Path("evals/generated.jsonl"),
    show_default=True,
    type=FILE_PATH,
    help="Case file to write; it must not exist yet.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of cases.  [default: all]",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice if there are more."
)
@click.option(
    "--talks",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Maximum number of conversations of two turns, the second about a section beside that of "
    "the first; each takes the place of two cases.",
)
@click.option(
    "--unanswerable",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of questions about invented names.  [default: one per five others]",
)
@click.option(
    "--withhold",
    "withheld",
    multiple=True,
    metavar="PATTERN",
    help="Notes, such as 'drafts/*.md', that your index will not contain: questions that only they "
    "answer become unanswerable; repeatable.",
)
@click.option(
    "--against",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Case file whose questions are not repeated; repeatable.",
)
@click.option("--model", metavar="MODEL", help="Writes further questions, section by section.")
@click.option(
    "--judge-base-url",
    "rageval_judge_base_url",
    metavar="URL",
    help="OpenAI-compatible API of the model.  [default: that of the judge]",
)
@click.option(
    "--judge-api-key-env",
    "rageval_judge_api_key_env",
    metavar="NAME",
    help="Environment variable that holds its key.  [default: that of the judge]",
)
@face_option
def command(
    vault: Path | None,
    output: Path,
    against: tuple[Path, ...],
    model: str | None,
    face: str | None,
    **given: Any,
) -> None:
    """Draft cases from Markdown notes.

    VAULT is by default the vault in [tool.rageval.target]. Headings that are questions, questions
    with their answers, and definitions become cases whose evidence is their section; a model writes
    more if --model names one. Each snippet and key fact is looked up in its section, and drafts
    that fail are dropped. Every case is marked as generated: it is asked and shown, but not counted
    in any figure or check until a person has reviewed it.
    """
    from pytest_rageval.authoring.generation.generate import Wish, case_file, generate, is_withheld
    from pytest_rageval.authoring.interchange.files import write_new
    from pytest_rageval.project.case_reader import load_cases

    if os.path.lexists(output):
        raise CommandError.of(output, "exists", what="file", option="-o")
    vault = vault or target_vault("VAULT")
    known = [located.case for file in against for located in load_cases(file).cases]
    notes = read_vault(vault)
    wish = Wish(**{name: given.pop(name) for name in _WISHES})
    for one in wish.withheld:
        if notes and not any(is_withheld(note, [one]) for note in notes):
            raise CommandError.of("--withhold", "no_note", found=repr(one), folder=vault)
    with _opened(model, given) as chat:
        made = generate(notes, wish, known=known, model=chat, progress=_progress)
    if not made.cases:
        raise _nothing(vault, made)
    write_new(output, [case_file(made.cases)])
    document = _document(output, made)
    print_result(document, _lines(output, document), face=face)


@contextmanager
def _opened(model: str | None, flags: dict[str, object]) -> Iterator[ChatModel | None]:
    if model is None:
        yield None
        return
    from pytest_rageval.judges.model.chat import ChatModel
    from pytest_rageval.judges.opening import given_client

    settings = project_settings(flags)
    judging, max_tokens = settings.judging, max(settings.judging.max_tokens, 1024)
    extra = judging.extra_body if model == settings.judge else {}  # they are those of its model
    judging = replace(judging, max_tokens=max_tokens, extra_body=extra)
    with given_client(settings) as given, ChatModel(model, judging, given=given) as chat:
        yield chat


def _progress(done: int, total: int) -> None:
    if done == total or done % 10 == 0:
        click.echo(f"asked about {done} of {total} sections", err=True)


def _nothing(vault: Path, made: Generated) -> CommandError:
    if not made.n_notes:
        return CommandError.of(vault, "absent", what="Markdown note")
    from pytest_rageval.authoring.generation.generate import DROPPED

    why = [f"{count} dropped: {DROPPED.get(code, code)}" for code, count in made.dropped.items()]
    return CommandError.of(vault, "nothing_made", n=made.n_notes, reason="; ".join(why))


def _document(output: Path, made: Generated) -> dict[str, Any]:
    return {
        "file": output.as_posix(),
        "n_cases": len(made.cases),
        "n_answerable": sum(case.answerable for case in made.cases),
        "n_unanswerable": sum(not case.answerable for case in made.cases),
        "n_talks": sum(bool(case.turns) for case in made.cases),
        "n_notes": made.n_notes,
        "n_notes_used": made.n_used,
        "withheld": list(made.withheld),
        "dropped": dict(made.dropped),
    }


def _lines(output: Path, document: dict[str, Any]) -> Iterator[str]:
    from pytest_rageval.authoring.generation.generate import DROPPED

    kinds = [f"{document[f'n_{kind}']} {kind}" for kind in ("answerable", "unanswerable")]
    kinds += [counted(n, "conversation") for n in [document["n_talks"]] if n]
    yield clean(
        f"{output}: {counted(document['n_cases'], 'case')} ({', '.join(kinds)}) from "
        f"{document['n_notes_used']} of {counted(document['n_notes'], 'note')}"
    )
    for code, count in document["dropped"].items():
        yield f"dropped {count}: {DROPPED.get(code, code)}"
    if document["withheld"]:
        yield "keep these notes out of the index, or their questions have answers:"
        yield from (f"  {path}" for path in document["withheld"])
    yield "they count once they are reviewed:"
    yield f"rageval label {shlex.quote(output.as_posix())} --review"
