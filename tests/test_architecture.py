"""The structure of the package, read from its imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import pytest_rageval

PACKAGE = Path(pytest_rageval.__file__).parent
FOUNDATION = {"models", "errors", "judgements", "options", "discovery", "state"}
DOORS = {
    "plugin", "preflight", "session", "items", "lookahead", "cassettes", "cli", "commands",
    "default_case", "document_session",
}  # fmt: skip
PURE = {
    "aggregate", "baseline_checks", "case_groups", "cassette_names", "citations", "columns",
    "comparability", "comparison", "comparison_flips", "comparison_groups",
    "comparison_noise", "comparison_pairs",
    "comparison_reasons", "contract", "explain", "fence", "gate", "gate_differences",
    "gate_figures", "gate_rules", "interchange", "json_line_edit", "judge_calibration",
    "judge_probes", "judge_reliability", "judge_trust", "labelling", "linting", "matching",
    "metrics", "metrics_document",
    "offline", "operational", "outcomes", "report", "report_html", "rubric", "rubric_reply",
    "rubric_schema", "run_comparison", "run_figures",
    "run_summaries", "scoring", "spot_check", "stats", "strict_json", "summaries", "trend",
}  # fmt: skip
EDGE_LIBRARIES = {
    "httpx": {
        "client",
        "documents_client",
        "embeddings",
        "fetching",
        "http_exchange",
        "reference",
    },
    "genai_prices": {"judge_price"},
    "jinja2": {"label_web", "report_html", "rubric"},
    "openai": {"judge_client"},
    "jmespath": {"mappings"},
    "markdown_it": {"notes", "reference"},
    "starlette": {"label_web", "reference"},
    "uvicorn": {"label_web", "reference"},
    "click": {"cli", "commands"},
    "tomlkit": {"thresholds", "toml_places"},
    "sqlalchemy": {"history", "judge_cache"},
    "vcr": {"cassettes", "cassette_secrets"},
    "yaml": {"interchange"},
    "textual": {"label_app"},
    "rich": {"label_app"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).with_suffix("")
        yield ".".join(p for p in relative.parts if p != "__init__"), path


@cache
def imports(path: Path, *, top_level: bool = False) -> frozenset[str]:
    return frozenset(_imports(path, top_level=top_level))


def _imports(path: Path, *, top_level: bool) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    nodes = tree.body if top_level else list(ast.walk(tree))
    for node in nodes:
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(name: str) -> str | None:
    """Return the room of the package that an imported name belongs to."""
    parts = name.split(".")
    return parts[1] if parts[0] == "pytest_rageval" and len(parts) > 1 else None


def rooms(path: Path) -> set[str]:
    return {room for name in imports(path) if (room := own(name)) is not None}


def room_of(module: str) -> str:
    return module.split(".")[0]


MODULES = [pytest.param(name, path, id=name or "__init__") for name, path in modules()]


@pytest.mark.parametrize(("module", "path"), MODULES)
def test_no_room_imports_a_door(module: str, path: Path) -> None:
    if room_of(module) in DOORS:
        return
    assert rooms(path) & DOORS == set()


@pytest.mark.parametrize(("module", "path"), MODULES)
def test_the_foundation_rests_on_itself_alone(module: str, path: Path) -> None:
    if room_of(module) in FOUNDATION:
        assert rooms(path) <= FOUNDATION | {"__version__"}


@pytest.mark.parametrize(("module", "path"), MODULES)
def test_a_pure_room_imports_only_pure_rooms(module: str, path: Path) -> None:
    if room_of(module) in PURE and module != "report.terminal":
        assert rooms(path) <= PURE | FOUNDATION


@pytest.mark.parametrize(("module", "path"), MODULES)
def test_the_reference_server_imports_nothing_of_the_rest(module: str, path: Path) -> None:
    if room_of(module) == "reference":
        assert rooms(path) <= {"reference"}


@pytest.mark.parametrize(("module", "path"), MODULES)
def test_each_edge_library_is_imported_in_its_own_room(module: str, path: Path) -> None:
    for name in imports(path):
        library = name.split(".")[0]
        if library in EDGE_LIBRARIES:
            assert room_of(module) in EDGE_LIBRARIES[library]


def test_top_level_imports_form_no_cycle() -> None:
    known = {name for name, _ in modules()}
    graph = {
        name: {
            imported.removeprefix("pytest_rageval.")
            for imported in imports(path, top_level=True)
            if imported.removeprefix("pytest_rageval.") in known
        }
        for name, path in modules()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import cycle: {' -> '.join((*trail, name))}"
        if name not in done:
            for imported in sorted(graph[name] - {name, ""}):
                visit(imported, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
