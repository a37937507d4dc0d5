"""Checks of the target by a session of pytest, which builds the clients of the project's cases."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings, missing_variable
from pytest_rageval.engine.preparing import check_target
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError, DatasetError
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.project.case_reader import LoadedSet

VARIABLE: Final = "_RAGEVAL_PROBE"
"""Environment variable with the instructions for ``plugin.probe`` as JSON."""
_PROBE: Final = "pytest_rageval.plugin.probe"
_FOUND: Final = Findings("target")
_HANGS: Final = "session"
_MOST_FILES: Final = 5
LONGEST_S: Final = 300.0
"""Seconds after which a session whose fixture or target hangs is ended."""
_ERROR_LINE: Final = re.compile(r"(?:E   +|ERROR:? |ImportError |INTERNALERROR> )(.+)")


def check_through_pytest(
    sets: Sequence[LoadedSet | DatasetError],
    flags: Mapping[str, object],
    question: str | None,
    settings: Settings,
) -> Iterator[Finding]:
    """Ask the client of a case of each file through pytest, and check its replies.

    Args:
        sets: case files of the project; at least one has a case.
        flags: given to ``rageval doctor``, by destination of the option.
        question: to ask in place of that of the cases; None: theirs.
        settings: of the project, with the flags.
    """
    chosen = [
        (str(found.path.resolve()), best.id)
        for found in sets
        if not isinstance(found, DatasetError)
        and (best := max((c.case for c in found.cases), key=_usefulness, default=None)) is not None
    ][:_MOST_FILES]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "findings.jsonl"
        task = {"out": str(out), "cases": chosen, "question": question}
        try:
            files = [file for file, _ in chosen]
            done = _run_pytest(files, flags, folder, task)
            ended = _no_session(done, os.path.relpath(files[0]), settings)
        except subprocess.TimeoutExpired:
            message = f"no end after {LONGEST_S:g} s: a fixture or the target does not answer"
            fix = "run `pytest --setup-only` on a case file, and interrupt it"
            ended = _FOUND.fail(_HANGS, message, fix)
        lines = out.read_text(encoding="ascii").splitlines() if out.is_file() else []
    found = [Finding(**json.loads(line)) for line in lines]
    if not found or ended.check == _HANGS:
        found.append(ended)
    yield from found


def _usefulness(case: Case) -> tuple[bool, bool, bool]:
    """Rank a case by what its reply can show; the first of the best is asked."""
    golds = case.gold_supports
    return case.answerable, bool(golds), any(gold.heading_path for gold in golds)


def _run_pytest(
    files: Sequence[str], flags: Mapping[str, object], folder: str, task: Mapping[str, Any]
) -> subprocess.CompletedProcess[str]:
    given = [
        str(option.flag) if flags[option.dest] is True else f"{option.flag}={flags[option.dest]}"
        for option in OPTIONS
        if option.flag is not None and flags.get(option.dest)
    ]
    # A cache of its own, since what is set up here neither passed nor failed.
    quiet = ["-q", "--setup-only", "-p", _PROBE, "-o", f"cache_dir={folder}/cache"]
    environ = {name: value for name, value in os.environ.items() if name != "RAGEVAL_RESUME"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, *given, *files],
        env={**environ, VARIABLE: json.dumps(task)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=LONGEST_S,
    )


def _no_session(done: subprocess.CompletedProcess[str], file: str, settings: Settings) -> Finding:
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    reasons = [match[1] for line in lines if (match := _ERROR_LINE.match(line))] or lines[-1:]
    message = blot_out_known("; ".join(dict.fromkeys(reasons[:3])))
    message = message or f"exit code {done.returncode}"
    fix = f"run `pytest --collect-only {file}` to see all of it"
    try:
        check_target(settings.target, os.environ)
    except ConfigError as error:  # which the session refuses as well
        fix = missing_variable(error) or fix
    return _FOUND.fail("pytest", message, fix)
