"""Every command over damaged files of a project: an exit code and lines of ours, never more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.viewing import ProjectRuns
from pytest_rageval.judges.offline.judge import VERSION
from pytest_rageval.values.run import CaseNote
from tests.build.mutations import mutated, type_swaps
from tests.build.projects import work_in
from tests.hostile import attack
from tests.hostile.project import MODEL, contents, make_project

pytestmark = pytest.mark.slow

MANY = 12
RUN = "evals/results/one/"
RUN_FILES = ("config.json", "metrics.json", "gate.json", "groups.json", "results.jsonl")

Command = Sequence[str] | Callable[[], object]


def view(*pages: str) -> Callable[[], object]:
    """Return a call that makes pages of ``rageval view``."""

    def make() -> object:
        shown = ProjectRuns(Path("evals/results"), title="p")
        for page in pages:
            match page.split():
                case [run]:
                    attack.read_quietly(partial(_joined, shown.run_page, run))
                case runs:
                    attack.read_quietly(partial(_joined, shown.compare_page, runs))
        note = CaseNote(file="evals/set.jsonl", case_id="a", text="t", author="b")
        return "".join(shown.list_page()), shown.note("one", note)

    return make


def _joined(page: Callable[[Any, None], Iterable[str]], of: object) -> str:
    return "".join(page(of, None))


OF_RUNS: tuple[Command, ...] = (
    ("compare", "one", "two"), ("compare", "two", "one", "--json"),
    ("compare", "one", "two", "-v", "--md", "x.md"), ("gate", "one", "--baseline", "two"),
    ("gate", "two"), ("report", "one", "-o", "o.html", "--baseline", "two"), ("explain", "one"),
    ("explain", "one", "a", "-v"), ("explain", "one", "a", "--json"), ("runs", "list"),
    ("runs", "list", "--json"), ("runs", "show", "one"), ("runs", "show", "one", "--json"),
    ("runs", "trend", "mrr"), ("runs", "sync"), ("runs", "site", "-o", "site"),
    ("runs", "prune", "--keep", "3", "--dry-run"), ("review", "one", "--table", "--json"),
    ("review", "one", "--labels", "l.jsonl", "--baseline", "two"), ("review", "one", "--tag"),
    ("runs", "tag", "one", "new"),
    ("merge", "one", "more", "--run-id", "m"), ("judge", "one"),
    ("judge", "one", "--rubric", "abstention"), ("export", "otlp", "one", "-o", "o.json"),
    ("export", "trec", "--run", "one", "-o", "trec"), ("rerank", "one"),
    ("label", "evals/set.jsonl", "--failed-from", "one"), view("one", "one two"),
)  # fmt: skip
OF_SECTIONS: tuple[Command, ...] = (
    ("report", "one", "-o", "o.html"), ("runs", "site", "-o", "site", "--full-text"), view("one"),
)  # fmt: skip
OF_PARTS: tuple[Command, ...] = (
    ("merge", "two", "more", "--run-id", "m"), ("merge", "more", "two", "--run-id", "m", "--json"),
)  # fmt: skip
OF_CASES: tuple[Command, ...] = (
    ("check",), ("check", "--json", "evals/set.jsonl"), ("score", "evals/set.jsonl", "set.jsonl"),
    ("case", "add", "-f", "evals/set.jsonl", "--question", "what is it?"),
    ("case", "edit", "a", "-f", "evals/set.jsonl", "--notes", "n"),
    ("case", "remove", "a", "-f", "evals/set.jsonl"), ("export", "beir", "-o", "beir"),
    ("export", "trec", "-o", "trec"), ("label", "evals/set.jsonl", "--agreement"),
    ("import", "json", "evals/set.jsonl", "-o", "new.jsonl"), ("explain", "one", "a"),
    ("ask", "--case", "b"),
)  # fmt: skip
OF_SETTINGS: tuple[Command, ...] = (
    ("gate", "one"), ("check",), ("runs", "list"), ("compare", "one", "two"), ("judge", "one"),
    ("score", "evals/set.jsonl", "set.jsonl"), ("doctor", "--config"), ("label", "--agreement"),
    ("merge", "two", "more", "--run-id", "m"), ("report", "one", "-o", "o.html"),
    ("ask", "who pays?"),
)  # fmt: skip
OF_LIMITS: tuple[Command, ...] = (
    ("gate", "one"), ("compare", "one", "two"), ("runs", "prune", "--keep", "9"),
    ("merge", "two", "more", "--run-id", "m"), ("report", "one", "-o", "o.html"),
)  # fmt: skip
OF_APPROVAL: tuple[Command, ...] = (
    ("gate", "two", "--baseline", "auto"), ("runs", "prune", "--keep", "9"),
    ("report", "two", "--comment", "--baseline", "auto", "-o", "o.md"),
)  # fmt: skip
OF_CALIBRATIONS: tuple[Command, ...] = (
    ("report", "one", "-o", "o.html"), ("judge", "one"), ("merge", "two", "more", "--run-id", "m"),
    ("calibrate", "labels.jsonl", "--rubric", "groundedness", "--save"),
)  # fmt: skip
OF_LABELS: tuple[Command, ...] = (
    ("label", "evals/set.jsonl", "--agreement"),
    ("label", "evals/set.jsonl", "--agreement", "--json"),
    ("label", "evals/set.jsonl", "--plain", "--adjudicate"),
)  # fmt: skip
OF_INDEX: tuple[Command, ...] = (
    ("runs", "sync"), ("runs", "trend", "mrr"), ("runs", "sync", "--rebuild"),
    ("runs", "tag", "one", "new"), ("judge", "one"),
)  # fmt: skip
OF_CACHE: tuple[Command, ...] = (
    ("judge", "one", *MODEL, "URL"), ("judge", "--show-cache"), ("judge", "--prune-cache", "1"),
)  # fmt: skip

ATTACKED: Mapping[str, tuple[Command, ...]] = {
    **{RUN + name: OF_RUNS for name in (*RUN_FILES, "notes.json", "reviews/me.jsonl")},
    f"{RUN}sections.json": OF_SECTIONS,
    "evals/results/tags/main": OF_RUNS,
    **{f"evals/results/two/{name}": OF_PARTS for name in RUN_FILES[:1] + RUN_FILES[-1:]},
    "evals/set.jsonl": OF_CASES,
    "set.jsonl": (("score", "evals/set.jsonl", "set.jsonl"),),
    "pyproject.toml": OF_SETTINGS,
    "thresholds.toml": OF_LIMITS,
    f"evals/judge_calibration/offline%2F{VERSION}-groundedness.json": OF_CALIBRATIONS,
    "evals/labels/me.jsonl": OF_LABELS,
    "evals/baseline.json": OF_APPROVAL,
    "labels.jsonl": (("calibrate", "labels.jsonl", "--rubric", "groundedness"),),
    "evals/history.sqlite": OF_INDEX,
    "evals/cache/judge.sqlite": OF_CACHE,
}
"""By file: the commands that read it."""


@dataclass(frozen=True)
class Attacked:
    """A project whose files are damaged one at a time."""

    folder: Path
    files: Mapping[str, bytes]
    model: str

    def fault(self, name: str, content: bytes | None, command: Command) -> str | None:
        """Return the fault of a command over one damaged file; None: a folder in its place."""
        self.restore()
        if content is None:
            (self.folder / name).unlink()
            (self.folder / name).mkdir()
        else:
            (self.folder / name).write_bytes(content)
        return self.fault_of(command)

    def restore(self) -> None:
        """Write the undamaged files again."""
        for one in self.folder.iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        for path, data in self.files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(data)

    def fault_of(self, command: Command) -> str | None:
        """Return the fault of a command over the files as they are."""
        if callable(command):
            return attack.read(command)
        return attack.run([self.model if word == "URL" else word for word in command])


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("hostile") / "project"
    with pytest.MonkeyPatch.context() as patch:
        work_in(folder, patch)
        patch.setenv("RAGEVAL_DB", str(folder / "evals" / "history.sqlite"))
        patch.setenv("OPENAI_API_KEY", "k")
        model = make_project(folder)
        yield Attacked(folder, contents(folder), model)


def faults(attacked: Attacked, name: str, damaged: Iterable[tuple[int, bytes | None]]) -> list[str]:
    """Attack a file, with each damage by the next command, and return the faults."""
    commands = ATTACKED[name]
    found = []
    for number, content in damaged:
        command = commands[number % len(commands)]
        if fault := attacked.fault(name, content, command):
            found.append(f"{number}, {command}: {fault}")
    return found


@pytest.mark.parametrize("name", ATTACKED)
def test_no_command_ends_in_a_traceback_over_a_damaged_file(attacked: Attacked, name: str) -> None:
    data = attacked.files[name]
    damaged = [(n, mutated(data, n)) for n in range(max(MANY, len(ATTACKED[name])))]
    assert faults(attacked, name, [*damaged, (0, None), (0, b"")]) == []


@pytest.mark.parametrize("name", [RUN + one for one in RUN_FILES[:3]])
def test_no_command_ends_in_a_traceback_over_a_value_of_another_type(
    attacked: Attacked, name: str
) -> None:
    assert faults(attacked, name, enumerate(type_swaps(attacked.files[name], MANY))) == []


@pytest.mark.posix
@pytest.mark.parametrize(
    ("number", "name"), [*enumerate(RUN + name for name in (*RUN_FILES, "notes.json"))]
)
def test_no_command_waits_for_a_pipe_in_a_run(attacked: Attacked, number: int, name: str) -> None:
    found = []
    for command in OF_RUNS[number % 3 :: 3]:
        attacked.restore()
        (attacked.folder / name).unlink()
        os.mkfifo(attacked.folder / name)
        if fault := attacked.fault_of(command):
            found.append(f"{command}: {fault}")
    assert found == []


TAGGING: tuple[Command, ...] = (
    ("runs", "tag", "two", "main"), ("runs", "tag", "one", "new"),
    ("runs", "tag", "--delete", "main"), ("runs", "prune", "--keep", "0"),
)  # fmt: skip
WRITING: Mapping[str, tuple[Command, ...]] = {
    "one": (
        *OF_RUNS, *OF_CALIBRATIONS, *TAGGING, ("report", "one"), ("judge", "one", *MODEL, "URL"),
        ("score", "evals/set.jsonl", "set.jsonl", "--save", "one"),
    ),
    "two": (*OF_PARTS, *TAGGING, ("gate", "two"), ("compare", "one", "two"), ("report", "two")),
    "tags": TAGGING,
}  # fmt: skip
"""By folder of the results: the commands that write there, or read it and write elsewhere."""


@pytest.mark.posix
@pytest.mark.parametrize("name", WRITING)
def test_no_command_writes_through_a_link_in_the_place_of_a_folder(
    attacked: Attacked, name: str, tmp_path: Path
) -> None:
    found = []
    for number, command in enumerate(WRITING[name]):
        attacked.restore()
        folder = attacked.folder / "evals" / "results" / name
        outside = tmp_path / str(number)
        folder.rename(outside)
        folder.symlink_to(outside, target_is_directory=True)
        before = contents(outside)
        if fault := attacked.fault_of(command):
            found.append(f"{command}: {fault}")
        found += [f"{command}: {path}" for path in before.keys() ^ contents(outside).keys()]
        found += [f"{command}: {p}" for p in before if before[p] != contents(outside).get(p)]
    assert found == []
