"""Reference pages, written from the code: settings, commands, formats, exit codes and the API."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from _pytest.fixtures import FixtureFunctionDefinition

import pytest_rageval
from pytest_rageval.cli.commands.schema import KINDS
from pytest_rageval.cli.main import cli
from pytest_rageval.cli.output import EXIT_CODES
from pytest_rageval.cli.schemas import json_schema
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.plugin import hooks, hookspecs
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.runs import index
from pytest_rageval.runs.history import sync
from pytest_rageval.support.reading import schema_at, words
from pytest_rageval.values.declared import Setting

_GROUPS = (
    ("The target", lambda one: one.name.startswith("target.")),
    ("The judge", lambda one: one.name.startswith("judging.") or one.name == "judge"),
    ("Cases, matching and the run", lambda one: True),
)
_ROLES = {
    "everything": "same",
    "answers": "same for answers",
    "judged": "same for judged",
    "subject": "named",
    "effort": "named",
    "part": "free",
    "nothing": "free",
}


PAGES = {
    "settings": "Settings: of pyproject.toml, with their flags, variables and values",
    "commands": "Commands: the help of each",
    "exit-codes": "Exit codes: of pytest and of `rageval`",
    "formats": "File formats: fields and JSON Schemas",
    "api": "Public API: functions, types and errors",
    "fixtures": "Fixtures and hooks: what a project can replace",
}
"""Pages of the reference: title and content."""
_OTHER_FILES = """
## Other files

| file | described in |
|---|---|
| recorded responses | [score](/score.md) |
| labels of answers, and of the cases of a run | [trust in a judge](/calibration.md) |
| `sweep.toml` | [sweep](/sweep.md) |
| rubrics | [rubrics](/rubrics.md) |
"""


class Generated(NamedTuple):
    """Pages and further files of the site that are written from the code."""

    pages: dict[str, str]
    """Path in the site and Markdown."""
    files: dict[str, str]
    """Path in the site and content of files that are served as they are."""


def reference_pages() -> Generated:
    """Return everything that the code says about itself."""
    schemas = {kind: json_schema(kind, BUILT_IN) for kind in KINDS}
    texts = [_settings_page(), _commands_page(), _exit_codes_page(), _formats_page(schemas)]
    texts += [_api_page(), _fixtures_page()]
    pages = {f"reference/{name}.md": one for name, one in zip(PAGES, texts, strict=True)}
    files = {f"schemas/{name}.json": json.dumps(one, indent=2) for name, one in schemas.items()}
    return Generated(pages, files)


def _settings_page() -> str:
    left = [*OPTIONS]
    lines = [
        "# Settings",
        "",
        "A flag of pytest overrides the environment variable, which overrides the key below "
        "`[tool.rageval]` of pyproject.toml. `rageval doctor --config` shows each value and its "
        "origin.",
        "",
        "The last column says what a difference means for a comparison of two runs. *Same*: "
        "metrics (all, those of answers, judged ones) are compared only if both runs have the "
        "same value. "
        "*Named*: the difference is named beside the figures. *Free*: not looked at.",
    ]
    for title, belongs in _GROUPS:
        lines += ["", f"## {title}", ""]
        lines += ["| setting | values | meaning | two runs |", "|---|---|---|---|"]
        lines += [_setting_row(one) for one in left if belongs(one)]
        left = [one for one in left if not belongs(one)]
    lines += ["", "## Variables alone", "", "| variable | meaning |", "|---|---|"]
    lines += [
        f"| `{index.VARIABLE}` | database that runs are indexed in ([history](/history.md)) |",
        f"| `{sync.PROJECT}` | name of the project in a shared one; else that of the folder |",
    ]
    return "\n".join(lines) + "\n"


def _setting_row(one: Setting) -> str:
    names = [f"`{name}`" for name in (one.key, one.flag, one.env) if name]
    more = " (repeatable)" if one.flag and one.repeatable else ""
    text = re.sub(r"\bdocs/([\w-]+\.md#[\w-]+)", r"[presets](/\1)", one.help)
    cells = ("<br>".join(names) + more, _values(one), text, _ROLES[one.role])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _values(one: Setting) -> str:
    if one.choices:
        return ", ".join(f"`{choice}`" for choice in one.choices)
    if one.kind in {"integer", "number"}:
        return words(schema_at(one.type, ()))
    return one.kind.replace("_", " ")


def _commands_page() -> str:
    lines = ["# Commands", "", "The output of `--help` of each command."]
    for level, path, command in _commands(cli, ("rageval",)):
        text = command.get_help(_context(command, path))
        lines += ["", f"{'#' * level} {' '.join(path)}", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _context(command: click.Command, path: tuple[str, ...]) -> click.Context:
    return click.Context(
        command,
        info_name=" ".join(path),
        terminal_width=96,
        max_content_width=96,
        help_option_names=["-h", "--help"],
    )


def _commands(
    group: click.Command, path: tuple[str, ...], level: int = 2
) -> Iterator[tuple[int, tuple[str, ...], click.Command]]:
    yield level, path, group
    if isinstance(group, click.Group):
        context = _context(group, path)
        for name in group.list_commands(context):
            if command := group.get_command(context, name):
                yield from _commands(command, (*path, name), level if level > 2 else 3)


def _exit_codes_page() -> str:
    runs = (Path(__file__).parent.parent / "runs.md").read_text(encoding="utf-8")
    (of_pytest,) = re.findall(r"^\| exit code \| means \|\n(?:\|.*\n)+", runs, re.MULTILINE)
    rows = [f"| {int(code)} | {means} |" for code, means in EXIT_CODES.items()]
    return f"""# Exit codes

## pytest

{of_pytest}
## rageval

| code | means |
|---|---|
{chr(10).join(rows)}

What 1 means for a command is said in its page and in [its help](commands.md).
"""


def _formats_page(schemas: dict[str, dict[str, Any]]) -> str:
    files = {
        "case": ("a line of a case file", "/cases.md"),
        "thresholds": ("`thresholds.toml`", "/thresholds.md"),
        "reply": ("the reply of a target, before a mapping or after it", "/target.md"),
        "record": ("a line of `results.jsonl` of a run", "/runs.md"),
        "config": ("`config.json` of a run: what was asked, with what and when", "/runs.md"),
        "metrics": ("`metrics.json` of a run: its numbers", "/runs.md"),
        "groups": ("`groups.json` of a run: the same by category, tag, ...", "/runs.md"),
        "gate": ("`gate.json` of a run: each check and the verdict", "/runs.md"),
    }
    lines = [
        "# File formats",
        "",
        "JSON Schemas (2020-12), made from the types that read and write these files. "
        "`rageval schema NAME` prints them for the installed version; [Versions and stored "
        "files](/stability.md) says what later versions keep.",
        "",
        "| schema | of |",
        "|---|---|",
        *(
            f'| <a href="../schemas/{name}.json">{name}.json</a> | [{what}]({page}) |'
            for name, (what, page) in files.items()
        ),
    ]
    for name, schema in schemas.items():
        lines += ["", f"## {name}", "", *_properties(schema)]
        for title, one in schema.get("$defs", {}).items():
            if one.get("properties"):
                lines += ["", f"### {name}: {title}", ""]
                lines += _properties(one)
    return "\n".join(lines) + "\n" + _OTHER_FILES


def _properties(schema: dict[str, Any]) -> list[str]:
    required = set(schema.get("required", ()))
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for name, one in schema.get("properties", {}).items():
        note = " ".join(str(one.get("description", "")).split())
        note = re.sub(r"[|<>]", r"\\\g<0>", note)
        rows.append(
            f"| `{name}`{' (required)' if name in required else ''} | {_type(one)} | {note} |"
        )
    return rows


def _type(one: dict[str, Any]) -> str:
    if "$ref" in one:
        return str(one["$ref"]).rpartition("/")[2]
    if "enum" in one:
        return ", ".join(f"`{json.dumps(value)}`" for value in one["enum"])
    if "const" in one:
        return f"`{json.dumps(one['const'])}`"
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(_type(option) for option in one["anyOf"]))
    if one.get("type") == "array":
        return f"list of {_type(one.get('items') or {})}"
    found = one.get("type", "any")
    return " or ".join(found) if isinstance(found, list) else str(found)


def _api_page() -> str:
    kinds: dict[str, list[str]] = {"Functions": [], "Types": [], "Errors": []}
    for name in pytest_rageval.__all__:
        found = getattr(pytest_rageval, name)
        if inspect.isclass(found):
            kinds["Errors" if issubclass(found, Exception) else "Types"].append(name)
        elif callable(found):
            kinds["Functions"].append(name)
    lines = [
        "# Public API",
        "",
        "Everything that `pytest_rageval` exports. Guides: [Python](/python.md), "
        "[Python API](/python-api.md), [metrics of your own](/extending.md).",
    ]
    for title, names in kinds.items():
        directive = {"Functions": "autofunction", "Errors": "autoexception"}.get(title, "autoclass")
        lines += ["", f"## {title}"]
        for name in names:
            lines += ["", "```{eval-rst}", f".. {directive}:: pytest_rageval.{name}"]
            lines += ["   :members:"] if directive == "autoclass" else []
            lines += ["```"]
    return "\n".join(lines) + "\n"


def _fixtures_page() -> str:
    lines = ["# Fixtures and hooks", "", "## Fixtures", ""]
    lines += ["Override one in `conftest.py` to replace it: [Python](/python.md).", ""]
    for name, found in vars(hooks).items():
        if isinstance(found, FixtureFunctionDefinition) and not name.startswith("_"):
            lines += [f"### `{name}`", "", _doc(found), ""]
    lines += ["## Hooks", ""]
    for name, found in vars(hookspecs).items():
        if name.startswith("pytest_"):
            lines += [f"### `{name}`", "", _doc(found), ""]
    return "\n".join(lines) + "\n"


def _doc(found: object) -> str:
    return (inspect.getdoc(getattr(found, "__func__", found)) or "").replace("``", "`")
