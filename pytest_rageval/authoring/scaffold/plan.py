"""Which files a project lacks, and what is missing in those it keeps: values in, values out."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

CASES: Final = "evals/eval_set.jsonl"
PYPROJECT: Final = "pyproject.toml"
GITIGNORE: Final = ".gitignore"
THRESHOLDS: Final = "thresholds.toml"
WORKFLOW: Final = ".github/workflows/evals.yml"
VAULT: Final = "evals/vault"

_TARGET_VAULT: Final = f'vault = "{VAULT}"'
_TARGET_URL: Final = 'url = "http://127.0.0.1:8000"'

PYTEST_FILES: Final = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Files in which pytest looks for its settings besides pyproject.toml."""

_TEMPLATES: Final = {
    CASES: "cases.jsonl",
    THRESHOLDS: THRESHOLDS,
    PYPROJECT: "pyproject.txt",
    GITIGNORE: "gitignore.txt",
    WORKFLOW: "workflow.yml",
}
"""Template by path in the project; the notes of the vault are named as they are."""
_OWN_CASES_TEMPLATES: Final = {
    THRESHOLDS: "thresholds-own-cases.toml",
    PYPROJECT: "pyproject-own-cases.txt",
}
"""Where the cases are the user's own, and ask nothing about the notes of the vault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file that the project is to have."""

    path: str
    """Relative to the project, ``/``-separated."""
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What the user must add to a file that stays as it is."""

    path: str
    lines: tuple[str, ...]
    needed: bool
    """Whether the cases cannot be run without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What to write, and what to tell."""

    files: tuple[PlannedFile, ...]
    """Every file of the project, those that exist included."""
    additions: tuple[Addition, ...] = ()
    notes: tuple[str, ...] = ()
    """One sentence each."""
    first: str = ""
    """What the user has to do before the cases can be run, as an imperative; empty: nothing."""


def plan_scaffold(templates: Mapping[str, bytes], existing: Mapping[str, bytes]) -> Scaffold:
    """Decide what a project needs.

    Args:
        templates: content of the package's template files by their names; notes as
            ``vault/NAME.md``.
        existing: content of the project's files among those that are planned, and of pytest's
            own settings files, by path.
    """
    sources = dict(_TEMPLATES)
    own_cases = CASES in existing and existing[CASES] != templates[_TEMPLATES[CASES]]
    vault = {f"evals/{name}": name for name in sorted(templates) if name.startswith("vault/")}
    # Whoever has some of the notes began with them, and gets the others as well.
    own_target = own_cases and vault.keys().isdisjoint(existing)
    if own_cases:
        sources[THRESHOLDS] = _OWN_CASES_TEMPLATES[THRESHOLDS]
    if own_target:
        sources[PYPROJECT] = _OWN_CASES_TEMPLATES[PYPROJECT]
    else:
        sources |= vault
    files = tuple(PlannedFile(path=path, content=templates[name]) for path, name in sources.items())
    pyproject, notes = _pyproject_addition(existing, _TARGET_URL if own_target else _TARGET_VAULT)
    return Scaffold(
        files=files,
        additions=(*pyproject, *_gitignore_addition(templates, existing)),
        notes=notes,
        first=_first(existing, pyproject, notes, own_target=own_target),
    )


def _first(
    existing: Mapping[str, bytes],
    pyproject: tuple[Addition, ...],
    notes: tuple[str, ...],
    *,
    own_target: bool,
) -> str:
    if notes:
        return f"mend {PYPROJECT}"
    with_address = ", with the address of your system," if own_target else ""
    if any(one.needed for one in pyproject):
        return f"add the lines above{with_address} to {PYPROJECT}"
    if own_target and PYPROJECT not in existing:
        return f"put the address of your system into {PYPROJECT}"
    return ""


def _pyproject_addition(
    existing: Mapping[str, bytes], target_line: str
) -> tuple[tuple[Addition, ...], tuple[str, ...]]:
    if PYPROJECT not in existing:
        return (), ()
    try:
        document = tomllib.loads(existing[PYPROJECT].decode("utf-8-sig"))
    except ValueError as error:
        return (), (f"{PYPROJECT}: not TOML, mend it first: {error}",)
    lines: list[str] = []
    if not _configures_pytest(document, existing):
        # Without it, older versions of pytest would take another folder for the root.
        lines += ["[tool.pytest.ini_options]", 'minversion = "8.0"']
    target = _table(_table(document, "tool"), "rageval").get("target")
    if target is None:
        lines += [*([""] if lines else []), "[tool.rageval.target]", target_line]
    if not lines:
        return (), ()
    return (Addition(path=PYPROJECT, lines=tuple(lines), needed=target is None),), ()


def _configures_pytest(document: Mapping[str, Any], existing: Mapping[str, bytes]) -> bool:
    if "pytest" in _table(document, "tool"):
        return True
    sections = {"tox.ini": b"[pytest]", "setup.cfg": b"[tool:pytest]"}
    return any(
        name in existing and sections.get(name, b"") in existing[name] for name in PYTEST_FILES
    )


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = document.get(name, {})
    return inner if isinstance(inner, dict) else {}


def _gitignore_addition(
    templates: Mapping[str, bytes], existing: Mapping[str, bytes]
) -> tuple[Addition, ...]:
    if GITIGNORE not in existing:
        return ()
    held = {
        line.strip().lstrip("/").rstrip("/")
        for line in existing[GITIGNORE].decode("utf-8", "replace").splitlines()
    }
    wanted = templates[_TEMPLATES[GITIGNORE]].decode("utf-8").splitlines()
    missing = tuple(line for line in wanted if line.rstrip("/") not in held)
    if not missing:
        return ()
    return (Addition(path=GITIGNORE, lines=missing, needed=False),)
