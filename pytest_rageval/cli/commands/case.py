"""``rageval case``: adds, changes and removes single cases of a case file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from pytest_rageval.cli.arguments import (
    NEW_FILE,
    complete_case_of_file,
    file_to_extend,
    project_case_files,
)
from pytest_rageval.cli.output import (
    FILE_PATH,
    CommandError,
    HintingGroup,
    face_option,
    print_result,
    warn,
)
from pytest_rageval.cli.target import project_settings
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, did_you_mean
from pytest_rageval.values.case import TURN_FIELDS
from pytest_rageval.values.lenient import items, word

if TYPE_CHECKING:
    from pytest_rageval.project.case_edit import FileLine

_Command = TypeVar("_Command", bound=Callable[..., object])
_TEXTS: Final = {
    "--question": "question",
    "--standalone": "standalone",
    "--answer": "expected_answer",
    "--category": "category",
    "--difficulty": "difficulty",
    "--language": "language",
    "--notes": "notes",
}
_LISTS: Final = {
    "--fact": ("expected_key_facts", "What a correct answer contains; repeatable."),
    "--tag": ("tags", "Tag; repeatable."),
    "--folder": ("folders", "Folder that is sent with the question; repeatable."),
    "--vault": ("vaults", "Vault that is sent with the question; repeatable."),
}


@click.group("case", cls=HintingGroup)
def command() -> None:
    """Add, change or remove one case of a file.

    Every change is validated before it is written. All other lines stay the same, byte for byte.
    """


def _file_option(default: str) -> Callable[[_Command], _Command]:
    return click.option(
        "-f",
        "--file",
        "path",
        type=FILE_PATH,
        help=f"The case file.  [default: {default}]",
    )


def _field_options(command: _Command) -> _Command:
    options: list[Callable[[_Command], _Command]] = [
        *(click.option(flag, field, help=f"Sets {field}.") for flag, field in _TEXTS.items()),
        *(
            click.option(flag, field, multiple=True, help=text)
            for flag, (field, text) in _LISTS.items()
        ),
        click.option(
            "--turn",
            "turns",
            multiple=True,
            metavar="QUESTION|JSON",
            help="Turn of a conversation, in place of --question: its question, or its fields as a "
            "JSON object; repeatable.",
        ),
        click.option("--k", type=click.IntRange(min=1), help="Cutoff of this case."),
        click.option(
            "--answerable/--unanswerable",
            "answerable",
            default=None,
            help="Whether the documents contain an answer.",
        ),
        click.option(
            "--gold",
            "golds",
            multiple=True,
            metavar="'PATH#HEADING > SUB'",
            help="Location of the evidence; repeatable.",
        ),
        click.option(
            "--snippet",
            "snippets",
            multiple=True,
            help="Sentence of the one gold, word for word; repeatable.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="FIELD=JSON",
            help="Any field; a value that is not JSON is taken as text. Repeatable.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@command.command("add")
@_file_option(f"the only one, else {NEW_FILE}")
@click.option("--id", "case_id", help="Id of the case.  [default: made from the question]")
@_field_options
@face_option
def add(path: Path | None, case_id: str | None, face: str | None, **given: Any) -> None:
    """Add a case, or a conversation of several turns, at the end of a case file."""
    from pytest_rageval.authoring.interchange.files import add_case
    from pytest_rageval.authoring.interchange.ids import id_from_question

    fields = _fields(given)
    question = next((word(turn, "question") for turn in items(fields, "turns")), None)
    question = word(fields, "question") or question
    if question is None:
        raise click.UsageError("--question: expected the question that is asked")
    line = {"id": case_id or id_from_question(question), **fields}
    _check(line)
    path = path or file_to_extend(project_settings({}))
    add_case(path, line)
    _done("added", path, [line["id"]], face=face)


@command.command("edit")
@click.argument("case_id", metavar="ID", shell_complete=complete_case_of_file)
@_file_option("the one with the case")
@click.option("--id", "new_id", help="New id of the case.")
@_field_options
@click.option("--unset", multiple=True, metavar="FIELD", help="Field to remove; repeatable.")
@face_option
def edit(
    path: Path | None,
    case_id: str,
    new_id: str | None,
    unset: tuple[str, ...],
    face: str | None,
    **given: Any,
) -> None:
    """Change fields of the case ID; new values replace the old ones.

    TALK#2 is the second turn of the conversation TALK.
    """
    from pytest_rageval.project.case_edit import change_line, changes_of_turn

    path = path or _file_with(case_id)
    lines = _lines_by_id(path)
    talk, turn = _turn_of(lines, case_id)
    line = _line_of(lines, talk, path)
    changes = _fields(given) | ({} if new_id is None else {"id": new_id})
    value = json.loads(line.text)
    own = value["turns"][turn - 1] if turn else value
    if missing := [name for name in unset if name not in own]:
        raise CommandError.of(f"--unset {missing[0]}", "absent", what="field of the case")
    if not changes and not unset:
        raise click.UsageError("nothing to change: expected a field such as --question")
    _refuse_misplaced(changes, value, case_id, turn)
    if turn:
        changes, unset = changes_of_turn(value, turn, changes, unset), ()
    changed = {name: item for name, item in (value | changes).items() if name not in unset}
    _check(changed)
    if changed["id"] != talk and (taken := lines.get(changed["id"])):
        raise CommandError.of(
            f"{path}:{taken.number}",
            "duplicate",
            found=repr(changed["id"]),
            owner="the id of this case",
        )
    change_line(path, line, changes, unset=unset)
    _warn_of_translations(lines, [talk] if changed["id"] != talk else [])
    _done("changed", path, [case_id if turn else changed["id"]], face=face)


@command.command("remove")
@click.argument(
    "case_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_case_of_file
)
@_file_option("the one with the case")
@face_option
def remove(path: Path | None, case_ids: tuple[str, ...], face: str | None) -> None:
    """Remove cases from a case file."""
    from pytest_rageval.project.case_edit import remove_line

    wanted = list(dict.fromkeys(case_ids))
    path = path or _file_with(wanted[0])
    lines = _lines_by_id(path)
    for case_id in wanted:
        talk, turn = _turn_of(lines, case_id)
        if turn:
            raise CommandError.of(case_id, "turn_alone", id=talk)
    # All ids are looked up before the first case is removed.
    found = [_line_of(lines, case_id, path) for case_id in wanted]
    for line in sorted(found, key=lambda line: line.number, reverse=True):
        remove_line(path, line)
    _warn_of_translations(lines, wanted)
    _done("removed", path, wanted, face=face)


@command.command("promote")
@click.argument("case_ids", metavar="ID...", nargs=-1, required=True)
@click.option("-f", "--file", "inbox", type=FILE_PATH, required=True, help="File of the inbox.")
@click.option(
    "-o",
    "--output",
    type=FILE_PATH,
    help=f"Case file to add them to.  [default: the only one, else {NEW_FILE}]",
)
@face_option
def promote(case_ids: tuple[str, ...], inbox: Path, output: Path | None, face: str | None) -> None:
    """Add questions of an inbox to a case file, without what was answered.

    A question that the documents answer needs its evidence first: rageval label FILE --case ID.
    Trace and weight stay in its metadata.
    """
    from pytest_rageval.authoring.interchange.files import append_cases
    from pytest_rageval.authoring.interchange.values import json_text

    lines = _lines_by_id(inbox)
    wanted = list(dict.fromkeys(case_ids))
    found = [_promoted(json.loads(_line_of(lines, one, inbox).text), inbox) for one in wanted]
    output = output or file_to_extend(project_settings({}))
    known = _lines_by_id(output) if output.exists() else {}
    if taken := [one for one in wanted if one in known]:
        number = known[taken[0]].number
        owner = "the id of this case"
        raise CommandError.of(f"{output}:{number}", "duplicate", found=repr(taken[0]), owner=owner)
    append_cases(output, [json_text(line) for line in found])
    _done("added", output, wanted, face=face)


def _promoted(line: dict[str, Any], inbox: Path) -> dict[str, Any]:
    """Return a line of an inbox as a case.

    Raises:
        CommandError: nothing says what a right answer needs.
    """
    fields = {name: item for name, item in line.items() if name != "response"}
    fields["tags"] = [tag for tag in line.get("tags", ()) if tag != "inbox"]
    if line.get("answerable", True) and not line.get("gold_supports"):
        command = f"rageval label {inbox.as_posix()} --case {line['id']}"
        raise CommandError.of(
            inbox, "no_evidence", id=line["id"], command=command, file=inbox.as_posix()
        )
    _check(fields)
    return {name: item for name, item in fields.items() if item not in ([], {})}


def _turn_of(lines: Mapping[str, FileLine], case_id: str) -> tuple[str, int]:
    """Return the id of the line that a case is of, and its turn from 1; 0: it is the line."""
    talk, _, number = case_id.rpartition("#")
    if case_id in lines or talk not in lines:
        return case_id, 0
    turns = items(json.loads(lines[talk].text), "turns")
    place = {str(n): n for n, turn in enumerate(turns, 1) if isinstance(turn, dict)}
    return (talk, place[number]) if number in place else (case_id, 0)


def _refuse_misplaced(
    changes: Mapping[str, Any], value: Mapping[str, Any], case_id: str, turn: int
) -> None:
    """Refuse fields of a turn for a whole conversation, and an id or turns for a turn.

    Raises:
        CommandError: with the case to name instead.
    """
    of_turns = [name for name in changes if name in TURN_FIELDS]
    if not turn and value.get("turns") and of_turns:
        raise CommandError.of(case_id, "in_turns", field=of_turns[0], id=case_id)
    of_lines = [name for name in ("id", "turns") if name in changes]
    if turn and of_lines:
        raise CommandError.of(case_id, "of_turn", field=of_lines[0], id=value["id"])


def _warn_of_translations(lines: Mapping[str, FileLine], gone: Sequence[str]) -> None:
    for other, line in lines.items():
        original = json.loads(line.text).get("translation_of")
        if original in gone and other not in gone:
            warn(f"{other} is a translation of {original}, which is gone")


# --- file and options ------------------------------------------------------------------------


def _file_with(case_id: str) -> Path:
    """Return the only case file with a case."""
    files = project_case_files(project_settings({})) or [Path(NEW_FILE)]
    if len(files) == 1:
        return files[0]
    lines = {path: _lines_by_id(path) for path in files}
    found = [path for path in files if _turn_of(lines[path], case_id)[0] in lines[path]]
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.as_posix() for path in found or files)
    if found:
        raise CommandError.of(repr(case_id), "in_files", names=names)
    did_you_mean(case_id, [known for one in lines.values() for known in one])
    raise _no_case(case_id, names, [known for one in lines.values() for known in one])


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a case that options name."""
    from pytest_rageval.authoring.interchange.fields import parse_anchor

    fields: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if name not in {"golds", "snippets", "settings"} and value not in (None, ())
    }
    if given["golds"]:
        fields["gold_supports"] = [parse_anchor(text) for text in given["golds"]]
    if given["snippets"]:
        if len(given["golds"]) != 1:
            raise click.UsageError(
                "--snippet: expected one --gold beside it; for several, --set "
                'gold_supports=\'[{"rel_path": "a.md", "snippets": ["..."]}]\''
            )
        fields["gold_supports"][0]["snippets"] = list(given["snippets"])
    for text in given["settings"]:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set {text}: expected FIELD=JSON")
        fields[name.strip()] = _json_or_text(value)
    if given["turns"]:
        read = ((text, _json_or_text(text)) for text in given["turns"])
        fields["turns"] = [
            one if isinstance(one, dict) else {"question": text} for text, one in read
        ]
    return fields


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _check(line: Mapping[str, Any]) -> None:
    """Validate a case by the rules of case files.

    Raises:
        DatasetError: with every fault.
    """
    from pytest_rageval.project.case_fields import CASE_WARNINGS, find_warnings
    from pytest_rageval.project.case_reader import parse_case

    kinds = [kind for case in parse_case(line).expanded() for kind in find_warnings(case)]
    warn(*(CASE_WARNINGS[kind] for kind in dict.fromkeys(kinds)))


def _lines_by_id(path: Path) -> dict[str, FileLine]:
    """Return the line of every case with a unique id, valid or not.

    Raises:
        DatasetError: the file cannot be read.
    """
    from pytest_rageval.project.case_edit import lines_by_id, read_file_lines

    return lines_by_id(read_file_lines(path))


def _no_case(case_id: str, place: str, known: Iterable[str]) -> CommandError:
    return CommandError.of(place, "unknown", what=f"case {case_id!r}", **hint(case_id, known))


def _line_of(lines: Mapping[str, FileLine], case_id: str, path: Path) -> FileLine:
    if case_id in lines:
        return lines[case_id]
    raise _no_case(case_id, str(path), lines)


def _done(what: str, path: Path, ids: list[str], *, face: str | None) -> None:
    line = clean(f"{path.as_posix()}: {what} {', '.join(ids)}", 500)
    print_result({what: ids, "file": path.as_posix()}, [line], face=face)
