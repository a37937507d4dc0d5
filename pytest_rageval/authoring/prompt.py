"""Questions to a target, one after the other, and commands between them. No terminal and no files.

A line is a question, or a command that begins with a colon.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from pytest_rageval.authoring.interchange.ids import id_from_question
from pytest_rageval.authoring.labelling.draft import gold_for, written
from pytest_rageval.engine.case import Before
from pytest_rageval.project.case_reader import LocatedCase, case_fields
from pytest_rageval.project.option_values import read_value
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.report.view.asked import (
    answer_lines,
    asked_lines,
    difference_lines,
    judged_lines,
    place_text,
)
from pytest_rageval.report.view.blocks import Block, Fact, Table, labelled_lines
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import clean, first_few, shown
from pytest_rageval.target.variables import new_uuid
from pytest_rageval.values.case import Case, Talk, turn_id
from pytest_rageval.values.errors import DatasetError, RagEvalError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import FOLDER_MODES, Settings

MAX_K: Final = 200
_PARAMETERS: Final = next(one for one in OPTIONS if one.name == "params")


class PromptError(RagEvalError):
    """A line that cannot be carried out, with what to type instead."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question under the settings of its time."""

    located: LocatedCase
    file: str
    """Case file of a case; empty: it was typed."""
    settings: Settings
    before: Before = field(default_factory=Before)
    """State of its conversation."""


class PromptDesk(Protocol):
    """Target, judge and case file of a prompt."""

    def ask(self, question: AskedQuestion) -> CaseRecord:
        """Ask the target and return the scored record; failures are data."""

    def judge(self, question: AskedQuestion) -> CaseRecord:
        """Return the record of the question that was asked last, judged as well."""

    def save(self, line: Mapping[str, Any]) -> str:
        """Add a case to a case file and return the name of the file.

        Raises:
            DatasetError: it is not valid, or its id is taken.
        """


class PromptSession:
    """State of a conversation with a target.

    Args:
        desk: asks, judges and saves.
        settings: of the project, changed by commands for later questions.
        cases: those of the project by id, or ``file::id`` where files share it, with their files.
    """

    def __init__(
        self,
        desk: PromptDesk,
        settings: Settings,
        cases: Mapping[str, tuple[str, LocatedCase]],
    ) -> None:
        self.closed = False
        self.settings = settings
        self._desk = desk
        self._cases = dict(cases)
        self._fields: dict[str, Any] = {}
        """Fields of a case that a command has set, which then win over those of a case."""
        self._question: AskedQuestion
        """The last one, which is there once there is a record."""
        self._records: list[CaseRecord] = []
        """The last two answers, the later one last."""
        self._talk: list[tuple[AskedQuestion, CaseRecord]] | None = None
        """The answered turns of a conversation; None: each question stands alone."""

    def take(self, line: str) -> Iterator[Block]:
        """Carry out one line and yield what it prints.

        Raises:
            PromptError: it is no command, or its arguments are wrong.
        """
        text = line.strip()
        if not text:
            return
        if not text.startswith(":"):
            yield from self.ask(text)
            return
        name, *words = text[1:].split() or [""]
        if name not in COMMANDS:
            raise PromptError.of(
                "",
                "unknown",
                what=f"command :{name}",
                **(hint(name, COMMANDS) or {"advice": ", see :help"}),
            )
        yield from COMMANDS[name].run(self, words)

    def completions(self, line: str) -> list[str]:
        """Return the words that may stand at the end of a line that begins like this."""
        words = line.split(" ")
        if len(words) == 1:
            return [f":{name} " for name in COMMANDS if f":{name}".startswith(line) and line]
        offered: Mapping[str, Sequence[str]] = {
            ":case": sorted(self._cases),
            ":folders": sorted(self._known_folders()),
            ":folder-mode": FOLDER_MODES,
            ":unset": sorted(self.settings.params),
        }
        return [name for name in offered.get(words[0], ()) if name.startswith(words[-1])]

    # --- asking ------------------------------------------------------------------------------

    def ask(self, text: str) -> Iterator[Block]:
        """Ask a question that is no case; in a conversation it is the next turn."""
        if self._talk is None:
            return self._ask(Case(id="asked", question=text), "", 0)
        before = Before(session=new_uuid())
        if self._talk:
            last, record = self._talk[-1]
            before = last.before.after(record)
        turn = len(self._talk) + 1
        talk = Talk(conversation="asked", turn=turn, turns=turn, gold=before.answered)
        return self._ask(Case(id=turn_id("asked", turn), question=text, talk=talk), "", 0, before)

    def _ask(
        self, case: Case, file: str, lineno: int, before: Before | None = None
    ) -> Iterator[Block]:
        if before is None:  # of a turn in a file: as if it had been answered as expected
            before = Before(answered=case.talk.gold if case.talk else ())
        located = LocatedCase(case=replace(case, **self._fields), lineno=lineno)
        self._question = AskedQuestion(located, file, self.settings, before)
        record = self._desk.ask(self._question)
        self._records = [*self._records[-1:], record]
        if self._talk is not None and not file and case.turn and record.error is None:
            self._talk[case.turn - 1 :] = [(self._question, record)]
        yield from asked_lines(record)

    def talk(self, words: Sequence[str]) -> Iterator[Block]:
        """Begin a conversation, or end it."""
        if words not in ([], ["off"]):
            raise PromptError.of("", "usage", expected=":talk, or :talk off")
        self._talk = None if words else []
        state = "each question stands alone" if words else "questions are turns of a conversation"
        yield Fact("talk", state)

    def _last(self) -> CaseRecord:
        if not self._records:
            raise PromptError.of("", "nothing_asked")
        return self._records[-1]

    def ask_case(self, words: Sequence[str]) -> Iterator[Block]:
        """Ask the question of a case, and mark what its golds match."""
        name = " ".join(words)
        if not name:
            raise PromptError.of("", "usage", expected=":case ID")
        if several := [known for known in self._cases if known.endswith(f"::{name}")]:
            raise PromptError.of("", "usage", expected=f"one of {first_few(several, 10)}")
        if name not in self._cases:
            raise PromptError.of("", "unknown", what=f"case {name!r}", **hint(name, self._cases))
        file, located = self._cases[name]
        yield Fact("question", located.case.question)
        yield from self._ask(located.case, file, located.lineno)

    def again(self, words: Sequence[str]) -> Iterator[Block]:
        """Ask the last question with the settings of now."""
        self._last()
        asked = self._question.located
        yield from self._ask(asked.case, self._question.file, asked.lineno, self._question.before)

    def difference(self, words: Sequence[str]) -> Iterator[Block]:
        """Compare the last two answers."""
        if len(self._records) < 2:
            raise PromptError.of("", "one_answer")
        if any(one.error is not None for one in self._records):
            raise PromptError.of("", "failed_question")
        yield from difference_lines(*self._records)

    def judge(self, words: Sequence[str]) -> Iterator[Block]:
        """Have the last answer judged."""
        last = self._last()
        if last.answer is None:
            raise PromptError.of("", "no_answer")
        record = self._desk.judge(self._question)
        self._records[-1] = record
        if not record.verdicts.judgements:
            yield Fact("judge", "no rubric applies to this answer")
        yield from judged_lines(record)

    # --- looking -----------------------------------------------------------------------------

    def answer(self, words: Sequence[str]) -> Iterator[Block]:
        """Show the whole last answer."""
        return answer_lines(self._last(), whole=True)

    def chunk(self, words: Sequence[str]) -> Iterator[Block]:
        """Show the whole text of a chunk."""
        chunk = self._chunks(words or ["1"])[0]
        yield Fact("place", place_text(chunk.rel_path, chunk.heading_path))
        yield from labelled_lines("text", chunk.text or "(none reported)")

    def _chunks(self, words: Sequence[str]) -> list[Any]:
        chunks = self._last().reply.retrieved_chunks or ()
        numbers = [*map(_number, words)]
        if not all(0 < number <= len(chunks) for number in numbers):
            f"1 to {len(chunks)}" if chunks else "but the last answer came without any"
            raise PromptError.of(
                "", "usage", expected=f"numbers of the {len(chunks)} chunks of the last answer"
            )
        return [chunks[number - 1] for number in numbers]

    # --- settings ----------------------------------------------------------------------------

    def show_settings(self, words: Sequence[str] = ()) -> Iterator[Block]:
        """Show what is sent with the next question."""
        settings = self.settings
        values = {
            "k": settings.k,
            "folders": " ".join(self._fields.get("folders", ())) or "all",
            "vaults": " ".join(self._fields.get("vaults", ())) or "all",
            "folder-mode": settings.folder_mode or "as the target likes",
            "weights": f"{settings.vector_weight} {settings.lexical_weight}"
            if settings.vector_weight is not None or settings.lexical_weight is not None
            else "as the target likes",
            **{f"set {name}": json.dumps(value) for name, value in settings.params.items()},
        }
        yield Table(("", ""), [(f"  {name}", clean(str(v), 200)) for name, v in values.items()])

    def set_k(self, words: Sequence[str]) -> Iterator[Block]:
        """Set the number of chunks to ask for."""
        k = _number(*words) if len(words) == 1 else 0
        if not 1 <= k <= MAX_K:
            raise PromptError.of("", "usage", expected=f":k N, from 1 to {MAX_K}")
        self._fields["k"] = k
        return self._set(k=k)

    def set_places(
        self, kind: Literal["folders", "vaults"], names: Sequence[str]
    ) -> Iterator[Block]:
        """Set the folders or vaults to search; none: all."""
        self._fields[kind] = tuple(names)
        return self.show_settings()

    def set_folder_mode(self, words: Sequence[str]) -> Iterator[Block]:
        """Set the mode of folder selection."""
        if len(words) != 1 or words[0] not in FOLDER_MODES:
            raise PromptError.of("", "usage", expected=f":folder-mode {' or '.join(FOLDER_MODES)}")
        return self._set(folder_mode=words[0])

    def set_weights(self, words: Sequence[str]) -> Iterator[Block]:
        """Set the weights of vector and lexical scores."""
        try:
            vector, lexical = map(float, words)
        except ValueError:
            vector = lexical = -1.0
        if not (0 <= vector < float("inf") and 0 <= lexical < float("inf") and vector + lexical):
            raise PromptError.of(
                "", "usage", expected=":weights VECTOR LEXICAL, such as :weights 0.3 0.7"
            )
        return self._set(vector_weight=vector, lexical_weight=lexical)

    def set_parameter(self, words: Sequence[str]) -> Iterator[Block]:
        """Set a parameter of the request."""
        given = " ".join(words)
        name, equals, text = (part.strip() for part in given.partition("="))
        if not equals or not name:
            raise PromptError.of(
                "", "type", found=shown(given), expected="NAME=VALUE, such as rerank=true"
            )
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        read, faults = read_value(_PARAMETERS, {name: value})
        if faults:
            raise PromptError.of_faults(faults)
        return self._set(params={**self.settings.params, **read})

    def unset_parameter(self, words: Sequence[str]) -> Iterator[Block]:
        """Remove a parameter of the request."""
        if len(words) != 1 or words[0] not in self.settings.params:
            known = ", ".join(self.settings.params) or "none is set"
            raise PromptError.of("", "usage", expected=f":unset NAME, one of {known}")
        kept = {key: v for key, v in self.settings.params.items() if key != words[0]}
        return self._set(params=kept)

    def _set(self, **changes: Any) -> Iterator[Block]:
        self.settings = replace(self.settings, **changes)
        return self.show_settings()

    def _known_folders(self) -> set[str]:
        known = {folder for _, one in self._cases.values() for folder in one.case.folders}
        for record in self._records:
            if record.reply.folder_selection is not None:
                known.update(record.reply.folder_selection.available_folders or ())
        return known

    # --- keeping -----------------------------------------------------------------------------

    def save(self, words: Sequence[str]) -> Iterator[Block]:
        """Save the last question, or the conversation, as a case."""
        last = self._last()
        n_before = (self._question.located.case.turn or 1) - 1 if not self._question.file else 0
        before = [question.located.case.question for question, _ in self._talk or ()][:n_before]
        numbered = [word for word in words if word.isdecimal()]
        names = [word for word in words if not word.isdecimal()]
        if len(names) > 1:
            raise PromptError.of(
                "", "usage", expected=":save [ID] [NUMBERS of the chunks with the evidence]"
            )
        asked_last: dict[str, Any] = {"question": last.case.question}
        if golds := dict.fromkeys(map(gold_for, self._chunks(numbered))):
            asked_last["gold_supports"] = [*map(written, golds)]
        first = [*before, last.case.question][0]
        line: dict[str, Any] = {"id": names[0] if names else id_from_question(first)}
        if before:
            line["turns"] = [*({"question": one} for one in before), asked_last]
        else:
            line |= asked_last
        # As it was asked, whatever was set since then.
        asked = case_fields(self._question.located.case)
        line |= {name: asked[name] for name in ("folders", "vaults", "metadata") if name in asked}
        try:
            file = self._desk.save(line)
        except DatasetError as error:
            raise PromptError.of_faults(error.faults) from error
        text = f"{line['id']} added to {file}"
        if before or not golds:
            text += f"; rageval label --case {line['id']} marks its evidence"
        yield Fact("saved", text, status="good")

    def show_help(self, words: Sequence[str]) -> Iterator[Block]:
        """Show the commands."""
        yield Table(
            ("", ""),
            [
                (((f"  :{name} {one.arguments}", "strong"),), one.meaning)
                for name, one in COMMANDS.items()
            ],
        )
        yield (("  anything else is a question; Ctrl-C gives up a request, Ctrl-D ends", "weak"),)

    def close(self, words: Sequence[str]) -> Iterator[Block]:
        """End the conversation."""
        self.closed = True
        return iter(())


def _number(word: str) -> int:
    """Read a number of a command; 0: it is no number, or too long."""
    return int(word) if word.isdecimal() and len(word) < 10 else 0


@dataclass(frozen=True, slots=True)
class PromptCommand:
    """A command of the prompt."""

    arguments: str
    meaning: str
    run: Callable[[PromptSession, Sequence[str]], Iterator[Block]]


COMMANDS: Final[Mapping[str, PromptCommand]] = {
    "case": PromptCommand("ID", "ask the question of a case", PromptSession.ask_case),
    "talk": PromptCommand(
        "[off]", "begin a conversation: questions are its turns", PromptSession.talk
    ),
    "again": PromptCommand("", "ask the last question again", PromptSession.again),
    "diff": PromptCommand("", "compare the last two answers", PromptSession.difference),
    "judge": PromptCommand("", "judge the last answer", PromptSession.judge),
    "answer": PromptCommand("", "the whole last answer", PromptSession.answer),
    "chunk": PromptCommand("N", "the whole text of a chunk", PromptSession.chunk),
    "save": PromptCommand(
        "[ID] [N ...]", "save as a case, a talk too; N: chunks with evidence", PromptSession.save
    ),
    "k": PromptCommand("N", "number of chunks", PromptSession.set_k),
    "folders": PromptCommand(
        "[NAME ...]", "search only there", lambda p, w: p.set_places("folders", w)
    ),
    "vaults": PromptCommand(
        "[NAME ...]", "search only there", lambda p, w: p.set_places("vaults", w)
    ),
    "folder-mode": PromptCommand("MODE", "selection of folders", PromptSession.set_folder_mode),
    "weights": PromptCommand(
        "VECTOR LEXICAL", "weights of the two searches", PromptSession.set_weights
    ),
    "set": PromptCommand("NAME=VALUE", "parameter of the request", PromptSession.set_parameter),
    "unset": PromptCommand("NAME", "remove a parameter", PromptSession.unset_parameter),
    "settings": PromptCommand("", "what is sent", PromptSession.show_settings),
    "help": PromptCommand("", "this list", PromptSession.show_help),
    "quit": PromptCommand("", "end", PromptSession.close),
}
