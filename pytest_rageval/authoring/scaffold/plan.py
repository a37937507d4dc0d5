"""Files that a project lacks, and lines that existing files lack; nothing is overwritten."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from pytest_rageval.project.discovery import DEFAULT_TESTPATHS, THRESHOLDS, iter_case_files
from pytest_rageval.project.presets.preset import Preset, vars_line
from pytest_rageval.support.files import write_new_file
from pytest_rageval.values.errors import RagEvalError
from pytest_rageval.values.lenient import part

CASES: Final = "evals/eval_set.jsonl"
PYPROJECT: Final = "pyproject.toml"
GITIGNORE: Final = ".gitignore"
GITLAB: Final = ".gitlab-ci.yml"
CI: Final = {
    "github": (".github/workflows/evals.yml", "workflow.yml"),
    "gitlab": (GITLAB, "gitlab.yml"),
}
"""File of the job and its template, by the service."""
VAULT: Final = "evals/vault"

_PYTEST_TABLE: Final = b"[tool.pytest.ini_options]\n"
_TARGET_TABLE: Final = b"\n[tool.rageval.target]"
_TARGET_VAULT: Final = f'vault = "{VAULT}"'
_TARGET_URL: Final = 'url = "http://127.0.0.1:8000"'

PYTEST_FILES: Final = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Files besides pyproject.toml that can contain pytest's settings."""
CONFTESTS: Final = ("conftest.py", "evals/conftest.py")
"""Files that can hold a ``rag_client`` fixture, which takes the place of a configured target."""
_CLIENT: Final = re.compile(
    rb"""^(async\s+)?def\s+rag_client\b|^rag_client\s*=|\bname\s*=\s*["']rag_client["']""",
    re.MULTILINE,
)

_TEMPLATES: Final = {
    CASES: "cases.jsonl",
    THRESHOLDS: THRESHOLDS,
    PYPROJECT: "pyproject.txt",
    GITIGNORE: "gitignore.txt",
}
"""Template by path in the project; notes of the vault keep their names."""
_OWN_CASES_TEMPLATES: Final = {
    THRESHOLDS: "thresholds-own-cases.toml",
    PYPROJECT: "pyproject-own-cases.txt",
}
"""Templates for users with their own cases, which do not use the vault."""
_OWN_QUESTION: Final = "own-question.jsonl"
"""Template of the cases for users with a system of their own and no cases."""
_Files = Mapping[str, bytes]
"""Content of files by path or name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Lines that the user must add to an existing file."""

    path: str
    lines: tuple[str, ...]
    needed: bool
    """Whether the cases need it to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """Files to write, and messages for the user."""

    files: _Files
    """Content of every file of the project, including existing ones, by its path below the
    project, ``/``-separated."""
    additions: tuple[Addition, ...] = ()
    notes: tuple[str, ...] = ()
    """One sentence each."""
    first: str = ""
    """Required step before the cases can run, as an imperative; empty: none."""


def plan_scaffold(
    templates: _Files, existing: _Files, preset: Preset | None = None, ci: str | None = None
) -> Scaffold:
    """Decide which files a project needs.

    Args:
        templates: content of the package's template files by their names; notes as
            ``vault/NAME.md``.
        existing: content of the project's planned files, of pytest's settings files, of its
            conftest files and, or empty, of its other case files, by path.
        preset: of the user's system; None: none was named.
        ci: service that runs the cases, a key of ``CI``; None: GitLab where it has a file.
    """
    if _configures_pytest({}, existing):  # whose settings an own table would replace
        templates = {name: text.removeprefix(_PYTEST_TABLE) for name, text in templates.items()}
    service = ci or ("gitlab" if GITLAB in existing else "github")
    sources = {**_TEMPLATES, CI[service][0]: CI[service][1]}
    own_cases = existing.get(CASES, templates[_TEMPLATES[CASES]]) != templates[_TEMPLATES[CASES]]
    if CASES not in existing and any(path.endswith(".jsonl") for path in existing):
        own_cases = True
        del sources[CASES]
    if preset is not None:
        return _plan_preset(templates, existing, preset, sources)
    vault = {f"evals/{name}": name for name in sorted(templates) if name.startswith("vault/")}
    # A project with some of the notes was created by this command: add the others.
    own_target = own_cases and vault.keys().isdisjoint(existing)
    client = next((name for name in CONFTESTS if _CLIENT.search(existing.get(name, b""))), None)
    if own_cases:
        sources[THRESHOLDS] = _OWN_CASES_TEMPLATES[THRESHOLDS]
    if own_target or client:
        sources[PYPROJECT] = _OWN_CASES_TEMPLATES[PYPROJECT]
    else:
        sources |= vault
    target = None if client else _TARGET_URL if own_target else _TARGET_VAULT
    pyproject, faults = _pyproject_addition(existing, [] if target is None else [target])
    content = {path: templates[name] for path, name in sources.items()}
    first = _first(existing, pyproject, faults, own_target=own_target and not client)
    notes = faults
    if client:
        content[PYPROJECT] = content[PYPROJECT].partition(_TARGET_TABLE)[0]
        notes = (*faults, f"{client} has a rag_client fixture, so no target is configured")
        if not own_cases and not first:
            first = f"put your own questions into {CASES}"
    return Scaffold(
        files=content,
        additions=(*pyproject, *_other_additions(templates, existing)),
        notes=notes,
        first=first,
    )


def _plan_preset(
    templates: _Files, existing: _Files, preset: Preset, sources: Mapping[str, str]
) -> Scaffold:
    """Decide which files a project needs whose target is a known system."""
    lines = preset_lines(preset)
    table, _, _ = templates[_OWN_CASES_TEMPLATES[PYPROJECT]].partition(_TARGET_TABLE)
    own = {CASES: _OWN_QUESTION, THRESHOLDS: _OWN_CASES_TEMPLATES[THRESHOLDS]}
    content = {path: templates[own.get(path, name)] for path, name in sources.items()}
    content[PYPROJECT] = table + "\n".join(["", *lines, ""]).encode()
    additions, faults = _pyproject_addition(existing, lines[1:])
    first = f"add the lines above to {PYPROJECT}" if additions else f"fill in {PYPROJECT}"
    if preset.environment:
        first += f", set {' and '.join(preset.environment)}"
    if CASES in content.keys() - existing.keys():
        first += f", put your questions into {CASES}"
    return Scaffold(
        files=content,
        additions=(*additions, *_other_additions(templates, existing)),
        notes=faults,
        first=f"fix {PYPROJECT}" if faults else first,
    )


def preset_lines(preset: Preset) -> list[str]:
    """Return the settings of a project that uses a preset, with comments on what to fill in."""
    lines = ["[tool.rageval.target]", f"# {preset.title}: {preset.docs}"]
    lines += [f"# {sentence}" for sentence in preset.lost]
    lines.append(f'preset = "{preset.name}"')
    if preset.address:
        lines.append(f'url = "{preset.address}"')
    for one in preset.variables.values():
        value = "required" if one.required else "optional" if one.default is None else None
        lines.append(f"# {one.name}: {one.description} ({value or f'default {one.default!r}'})")
    if preset.required:
        lines.append(vars_line({one.name: one.example for one in preset.required}))
    if preset.environment:
        lines.append(f"# Secrets: export {'=... '.join(preset.environment)}=...")
    if preset.address:  # of a server that may run without a key
        headers = preset.settings.get("target.headers", {}).items()
        names = [name for name, value in headers if "env:" in value]
        lines += [f'# headers.{name} = ""     # a server without a key' for name in names]
    return lines


def _first(
    existing: _Files, pyproject: tuple[Addition, ...], faults: tuple[str, ...], *, own_target: bool
) -> str:
    if faults:
        return f"fix {PYPROJECT}"
    with_address = ", with the address of your system," if own_target else ""
    if any(one.needed for one in pyproject):
        return f"add the lines above{with_address} to {PYPROJECT}"
    if own_target and PYPROJECT not in existing:
        return f"put the address of your system into {PYPROJECT}"
    return ""


def _pyproject_addition(
    existing: _Files, target_lines: Sequence[str]
) -> tuple[tuple[Addition, ...], tuple[str, ...]]:
    if PYPROJECT not in existing:
        return (), ()
    try:
        document = tomllib.loads(existing[PYPROJECT].decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return (), (f"{PYPROJECT}: not TOML, fix it first: {error}",)
    lines: list[str] = []
    if not _configures_pytest(document, existing):
        # Without it, older versions of pytest would choose another root folder.
        lines += ["[tool.pytest.ini_options]", 'minversion = "8.0"']
    target = part(document, "tool", "rageval").get("target")
    needed = target is None and bool(target_lines)
    if needed:
        lines += [*([""] if lines else []), "[tool.rageval.target]", *target_lines]
    added = Addition(path=PYPROJECT, lines=tuple(lines), needed=needed)
    return (added,) if lines else (), ()


def _configures_pytest(document: Mapping[str, Any], existing: _Files) -> bool:
    if "pytest" in part(document, "tool"):
        return True
    sections = {"tox.ini": b"[pytest]", "setup.cfg": b"[tool:pytest]"}
    return any(
        name in existing and sections.get(name, b"") in existing[name] for name in PYTEST_FILES
    )


def _other_additions(templates: _Files, existing: _Files) -> tuple[Addition, ...]:
    """Return what .gitignore and the pipeline of GitLab lack."""
    found = _gitignore_addition(templates, existing)
    name = CI["gitlab"][1]
    if GITLAB in existing and b"pytest-rageval" not in existing[GITLAB]:
        lines = [one for one in templates[name].decode().splitlines() if not one.startswith("#")]
        found += (Addition(path=GITLAB, lines=tuple(lines), needed=False),)
    return found


def _gitignore_addition(templates: _Files, existing: _Files) -> tuple[Addition, ...]:
    if GITIGNORE not in existing:
        return ()
    held = {
        line.strip().lstrip("/").rstrip("/")
        for line in existing[GITIGNORE].decode("utf-8", "replace").splitlines()
    }
    wanted = templates[_TEMPLATES[GITIGNORE]].decode("utf-8").splitlines()
    missing = tuple(line for line in wanted if line.rstrip("/") not in held)
    return (Addition(path=GITIGNORE, lines=missing, needed=False),) if missing else ()


class ScaffoldError(RagEvalError):
    """The project's folder cannot be read or written."""


def read_templates() -> dict[str, bytes]:
    """Return every template file of the package by its name."""
    return dict(_walk(files("pytest_rageval.authoring.scaffold") / "files", ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry.read_bytes()


def read_project(folder: Path, preset: Preset | None = None, ci: str | None = None) -> Scaffold:
    """Return the files that the project in a folder needs; the folder need not exist.

    Raises:
        ScaffoldError: the path is a file, or a file in the folder cannot be read.
    """
    templates = read_templates()
    names = [*plan_scaffold(templates, {}).files, GITLAB, *PYTEST_FILES, *CONFTESTS]
    found = iter_case_files(rootdir=folder.absolute(), testpaths=DEFAULT_TESTPATHS)
    existing = {str(path): b"" for path in found} | dict(_existing(folder, names))
    return plan_scaffold(templates, existing, preset, ci)


def _existing(folder: Path, names: list[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        path = folder / name
        try:
            yield name, path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ScaffoldError.of(path, "unreadable", reason=error.strerror) from error


def write_scaffold(folder: Path, scaffold: Scaffold) -> Iterator[tuple[str, bool]]:
    """Write each missing file; yield each path, and whether it was created, as it is done.

    A file appears whole or not at all. Existing files are kept, even empty ones and broken links.
    Running it again completes an interrupted run.

    Raises:
        ScaffoldError: a folder or file cannot be created; names it.
    """
    for name, content in scaffold.files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            created = write_new_file(path, [content])
        except (FileExistsError, NotADirectoryError) as error:
            where = error.filename or path.parent
            raise ScaffoldError.of(where, "file_there") from error
        except OSError as error:
            raise ScaffoldError.of(path, "unwritable", reason=error.strerror) from error
        yield name, created
