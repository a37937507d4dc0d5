"""Files that the page reads from a results folder, and the command ``rageval report``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.runs.store import RunWriter, write_document, write_numbers
from pytest_rageval.values.gate import BaselineInfo
from pytest_rageval.values.record import CaseRecord
from tests.build.projects import work_in
from tests.report.html.builders import config, gated, missed, passed, run

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_in(tmp_path, monkeypatch)


def write_run(
    name: str, *records: CaseRecord, at: str = "2026-11-20T10:00:00+00:00", **fields: Any
) -> Path:
    files = run([*records], name)
    with RunWriter(Path("evals/results"), name) as writer:
        for record in records:
            writer.append(record)
        write_document(writer.path, "config.json", config(timestamp=at, **fields))
        write_numbers(writer.path, numbers_of(files))
        write_document(writer.path, "gate.json", files.gate)
    return Path("evals/results") / name


def rageval(*arguments: str) -> int:
    return cli.run(["report", *arguments])


# --- the command -------------------------------------------------------------------------------


def test_the_page_is_compared_with_the_baseline_of_the_gate_while_there_is_one() -> None:
    base = write_run("old", passed("a"), at="2026-11-20T09:00:00+00:00")
    folder = write_run("new", missed("a"))
    write_document(folder, "gate.json", gated(baseline=BaselineInfo(run_id="old")))
    pages = []
    for _ in range(2):
        assert rageval("new") == ExitCode.YES
        pages.append((folder / "report.html").read_text(encoding="utf-8"))
        shutil.rmtree(base, ignore_errors=True)
    assert ["Compared with old" in html for html in pages] == [True, False]
    assert "Not compared with another run." in pages[1]
    assert rageval("new", "--baseline", "old") == ExitCode.USAGE


def test_a_baseline_brings_flips() -> None:
    write_run("old", passed("a"))
    write_run("new", missed("a"), at="2026-11-21T10:00:00+00:00")

    assert rageval("last", "--baseline", "last~1", "-o", "page.html") == ExitCode.YES

    html = Path("page.html").read_text(encoding="utf-8")
    assert "Compared with old" in html
    assert "gold not in top" in html


def test_a_redacted_page_holds_no_question(tmp_path: Path) -> None:
    write_run("one", passed("a", question="Where is the treasure?"))

    assert rageval("one", "--redact", "-o", "page.html") == ExitCode.YES

    assert "treasure" not in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("none",), "run 'none': not found"),
        (("one", "--baseline", "none"), "run 'none': not found"),
        (("one", "-o", "folder/x/y.html"), "y.html: cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    capsys: Output, arguments: tuple[str, ...], named: str
) -> None:
    write_run("one", passed("a"))
    Path("folder").write_text("a file", encoding="utf-8")

    assert rageval(*arguments) == ExitCode.USAGE

    error = capsys.readouterr().err
    assert named in error
    assert len(error.splitlines()) == 1


def test_a_hostile_run_of_another_hand_is_read_and_shown(project: Path) -> None:
    folder = write_run("one", passed("a", question="<script>alert(1)</script>"))
    forged: dict[str, Any] = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    forged["sentence"] = "<img src=x onerror=alert(1)>"
    (folder / "gate.json").write_text(json.dumps(forged), encoding="utf-8")

    rageval("one", "-o", "page.html")

    html = Path("page.html").read_text(encoding="utf-8")
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
