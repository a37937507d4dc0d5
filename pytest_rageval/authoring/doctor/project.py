"""Checks of the project itself, and of its target by a session of pytest."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings, missing_variable
from pytest_rageval.engine.preparing import check_results_dir, check_target, run_thresholds
from pytest_rageval.project.case_reader import other_file_note, other_file_notes, read_set
from pytest_rageval.project.discovery import THRESHOLDS, project_files
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.project.settings import config_warnings
from pytest_rageval.support.files import named_errors
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.text import counted, part, plural, shown
from pytest_rageval.values.case import Case, counted_cases
from pytest_rageval.values.errors import ConfigError, DatasetError
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.project.case_reader import LoadedSet
    from pytest_rageval.values.gate import Thresholds

_FOUND: Final = Findings("project")
_SHOWN_FAULTS: Final = 3


def broken_settings(error: ConfigError) -> Finding:
    """Report an invalid pyproject.toml, variable or flag."""
    return _FOUND.fail(
        "settings", _first_lines(error), "correct it there; the documentation lists every key"
    )


_KEEP_SECRETS: Final = 'keep secrets in environment variables, and name them as in "env:RAG_TOKEN"'
_FIXES: Final = {
    "ignored": "remove it",
    "no_such_variable": "remove it, or write the name as the preset does",
}


def check_settings(settings: Settings) -> Iterator[Finding]:
    """Check that the settings contain no secret and that none of them is ignored."""
    warnings = config_warnings(settings)
    for fault in warnings:
        fix = _FIXES.get(fault.code, _KEEP_SECRETS)
        yield _FOUND.warn("settings", str(fault), fix)
    if not warnings:
        every = ", ".join(settings.origins.values()).split(", ")
        origins = {origin for origin in every if origin != "default"}
        yield _FOUND.ok("settings", f"from {', '.join(sorted(origins)) or 'defaults alone'}")


def check_preset(settings: Settings) -> Iterator[Finding]:
    """Report the preset of the target with its variables, and what it cannot know."""
    from pytest_rageval.project.presets.preset import load_preset

    target = settings.target
    if target.preset is None:
        return
    preset = load_preset(target.preset)
    values = [
        f"{name} = {shown(target.vars.get(name, variable.default))}"
        + (" (default)" if name not in target.vars else "")
        for name, variable in preset.variables.items()
    ]
    used = part(", vars {}", ", ".join(values))
    yield _FOUND.ok("preset", f"{preset.name} ({preset.title}){used}")
    if preset.lost:
        yield _FOUND.ok("preset", f"it cannot know: {'; '.join(preset.lost)}")


def read_case_files(settings: Settings) -> list[LoadedSet | DatasetError]:
    """Read every case file of the project."""
    found = {path: read_set(path, Path(settings.rootdir)) for path in project_files(settings)}
    return [
        one
        for path, one in found.items()
        if not isinstance(one, DatasetError) or other_file_note(path, path.name) is None
    ]


def check_case_files(
    settings: Settings, sets: Sequence[LoadedSet | DatasetError]
) -> Iterator[Finding]:
    """Check that the case files can be read, and report their contents."""
    if not sets:
        where = " or ".join(settings.testpaths)
        message = " and ".join(other_file_notes(settings)) or f"no .jsonl file below {where}"
        fix = "write one case a line there, or begin with `rageval init`"
        yield _FOUND.fail("cases", message, fix)
    for found in sets:
        if isinstance(found, DatasetError):
            fix = "fix the lines; `rageval check FILE` lists every fault"
            yield _FOUND.fail("cases", _first_lines(found), fix)
        elif not found.cases:
            fix = "write one case a line"
            yield _FOUND.warn("cases", f"{found.display}: empty", fix)
        else:
            warned = part(", {}", found.warnings[:1])
            cases = counted_cases(located.case for located in found.cases)
            yield _FOUND.ok("cases", f"{found.display}: {cases}{warned}")


def check_thresholds(settings: Settings, sets: Sequence[LoadedSet | DatasetError]) -> Finding:
    """Check that the thresholds can be read."""
    from pytest_rageval.engine.own_code import open_registry

    readable = [found for found in sets if not isinstance(found, DatasetError)]
    whole = bool(sets) and len(readable) == len(sets)
    try:
        registry = open_registry(settings)
        # The session of pytest below has the metrics of a conftest.py, and checks their names.
        thresholds = run_thresholds(settings, registry, readable, whole=whole, more=True)
    except ConfigError as error:
        return _FOUND.fail("thresholds", _first_lines(error), "fix what it names")
    if not (Path(settings.rootdir) / settings.thresholds).is_file():
        fix = f"rageval init writes a {THRESHOLDS} with comments"
        message = f"no {settings.thresholds}, so a case that does not pass fails a run"
        return _FOUND.warn("thresholds", message, fix)
    return _FOUND.ok("thresholds", f"{settings.thresholds}: {_checks(thresholds)}")


def _checks(thresholds: Thresholds) -> str:
    """Count the checks of a run, and name those that the file does not hold."""
    implicit = [check.metric for check in thresholds.checks if check.implicit]
    text = counted(len(thresholds.checks), "check")
    verb = plural(len(implicit), "applies", "apply")
    return f"{text}, of which {' and '.join(implicit)} always {verb}" if implicit else text


def cases_of(sets: Sequence[LoadedSet | DatasetError]) -> list[Case]:
    """Return the cases of the files that could be read."""
    return [
        located.case
        for found in sets
        if not isinstance(found, DatasetError)
        for located in found.cases
    ]


def check_results_folder(settings: Settings) -> Finding:
    """Check that runs can be stored, as pytest does, and by writing and removing a file."""
    folder = settings.results_folder
    standing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    try:
        check_results_dir(settings)
        with named_errors(Path(settings.results_dir), ConfigError):
            tempfile.TemporaryFile(dir=standing).close()
    except ConfigError as error:
        fix = "make the folder writable, or name another with --rageval-results"
        return _FOUND.fail("results", str(error), fix)
    return _FOUND.ok("results", f"{settings.results_dir} can be written")


def check_databases(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check that the index of runs can be used with what is installed; it is not opened."""
    from pytest_rageval.runs.index import index_url

    url = index_url(environ)
    if url is None:
        return
    try:
        from pytest_rageval.runs.history.database import parse_url, shown_url

        yield _FOUND.ok("databases", f"index of runs: {shown_url(parse_url(url))}")
    except ConfigError as error:
        yield _FOUND.fail("databases", str(error), "install the extra, or name a file")


def _first_lines(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if not line.startswith(" ")]  # no excerpts
    more = part(" (and {} more)", len(lines[_SHOWN_FAULTS:]))
    return "; ".join(lines[:_SHOWN_FAULTS]) + more


SHOWN: Final = ("pytest", "pytest-xdist", "pytest-recording", "vcrpy", "httpx")
_RIVALS: Final = {
    "pytest-vcr": "it and pytest-recording both define the marker vcr and replace cassettes",
    "pytest-parallel": "it runs items in threads, which pytest-xdist and the plugin do not expect",
}
"""Packages that conflict with cassettes or workers, and the reason."""


def check_packages() -> Iterator[Finding]:
    """Check the packages of this environment."""
    from packaging.utils import canonicalize_name

    installed = {
        str(canonicalize_name(dist.metadata["Name"])): dist.version
        for dist in metadata.distributions()
        if dist.metadata["Name"]
    }
    required = metadata.requires("pytest-rageval") or []
    yield from judge_versions(installed, required)


def judge_versions(installed: Mapping[str, str], required: list[str]) -> Iterator[Finding]:
    """Report incompatible versions of installed packages.

    Args:
        installed: version by normalised name.
        required: requirements of the package, from its metadata.
    """
    from packaging.version import Version

    shown = ", ".join(f"{name} {installed[name]}" for name in SHOWN if name in installed)
    yield _FOUND.ok("versions", f"Python {platform.python_version()}, {shown}")
    yield from _unmet(installed, required)
    if "pytest" in installed and Version(installed["pytest"]).release < (8, 3):
        message = f"pytest {installed['pytest']} knows no -m \"case(category='x')\""
        yield _FOUND.warn("pytest", message, "pip install -U pytest")
    for name, why in _RIVALS.items():
        if name in installed:
            yield _FOUND.warn("packages", f"{name} is installed: {why}", f"pip uninstall {name}")


def _unmet(installed: Mapping[str, str], required: list[str]) -> Iterator[Finding]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    for text in required:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = installed.get(canonicalize_name(requirement.name))
        fix = f'pip install -U "{requirement.name}{requirement.specifier}"'
        if version is None:
            yield _FOUND.fail("packages", f"{requirement.name} is missing", fix)
        elif not requirement.specifier.contains(version, prereleases=True):
            message = f"{requirement.name} {version}, expected {requirement.specifier}"
            yield _FOUND.fail("packages", message, fix)


VARIABLE: Final = "_RAGEVAL_PROBE"
"""Environment variable with the instructions for ``plugin.probe`` as JSON."""
_PROBE: Final = "pytest_rageval.plugin.probe"
_TARGET: Final = Findings("target")
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
            ended = _TARGET.fail(_HANGS, message, fix)
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
    return _TARGET.fail("pytest", message, fix)
