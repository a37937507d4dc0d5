"""The place of a module's tests follows from its name, and every module has tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "pytest_rageval"

OTHER_FOLDERS = {
    "benchmarks": "of the scripts beside the package",
    "build": "makers of test data",
    "data": "files that tests read",
    "docs": "of the pages and docstrings",
    "golden": "files that tests compare with",
    "hostile": "of every reader and command over damaged files and replies",
    "llama": "of a language model that is installed on few machines",
    "naive": "of the definitions, written a second time",
    "oracles": "examples and files of other tools",
    "properties": "of several packages at once",
}
"""Folders that mirror no package, and their content."""

NAMED_AFTER_BEHAVIOUR = {
    "plugin": "its tests run pytest, and their files name what a session does",
}
"""Packages whose modules need no test file of their own, and the reason."""

WITHOUT_BEHAVIOUR = {"values.verdict": "records, which the tests of every judge make"}
"""Modules that need no test, and the reason."""

TESTED_BY = {
    "engine/test_case_evidence": "judges.evidence metrics.context report.explain.golds",
    "analysis/compare/test_conclusion": "analysis.compare.pairs",
    "analysis/compare/test_metrics": "analysis.two_runs",
    "api/test_evaluation": "engine.asking",
    "authoring/labelling/test_store": "report.view.judging",
    "authoring/labelling/test_screen_tmux": "authoring.keyed.app",
    "authoring/labelling/test_page": "authoring.keyed.page",
    "authoring/review/test_session": "authoring.keyed.session report.view.judging",
    "authoring/test_viewing_app": "authoring.viewing",
    "cli/commands/test_ask": "report.view.asked",
    "cli/commands/test_label": "cli.keyed",
    "cli/commands/test_compare": "report.comparison_document report.view.comparison",
    "cli/commands/test_embeddings": "report.view.studies",
    "cli/commands/test_import": "authoring.interchange.registry",
    "cli/commands/test_judge": "cli.target engine.judging judges.opening",
    "cli/commands/test_rerank": "report.view.rerank",
    "cli/commands/test_run_history": "report.view.history runs.index",
    "cli/commands/test_runs": "runs.list runs.tags",
    "cli/commands/test_score_judge": "report.view.judging",
    "cli/commands/test_suite": "report.view.studies",
    "cli/commands/test_view": "cli.keyed",
    "cli/test_main": "cli.commands.schema cli.commands.serve",
    "judges/model/test_judge": "judges.model.chat",
    "judges/offline/test_judge": (
        "judges.offline.judge judges.offline.grounding judges.offline.lexicon "
        "judges.offline.parameters judges.offline.relations judges.offline.support "
        "judges.offline.vocabulary"
    ),
    "judges/rubrics/test_load": "judges.rubrics.schema",
    "judges/test_asking": "judges.plan",
    "metrics/test_embedding_scores": "metrics.similarity",
    "engine/test_planting": "analysis.gate.planted report.view.gate",
    "plugin/test_named_clients": "cli.target",
    "plugin/test_refusals": "engine.preparing",
    "plugin/test_resume": "engine.run",
    "plugin/test_shards": "cli.commands.merge",
    "project/test_case_edit_case_file_edit": "project.case_edit",
    "project/test_case_reader": "project.case_fields support.jsonl values.limits",
    "project/test_options": "project.option_values",
    "report/faces/test_terminal": "report.view.blocks",
    "report/html/test_notebook": "report.html.parts",
    "report/view/test_explanation": "report.wording",
    "report/explain/test_case": ("report.explain.figures report.explain.golds"),
    "report/html/run/test_cases": "report.html.run.detail",
    "cli/commands/test_run_history_run_site": "report.html.runs.site",
    "report/html/run/test_page_files": "cli.commands.report report.html.run.view",
    "runs/history/test_database": "support.sqlite",
    "runs/test_reviews_notes": "report.html.run.page",
    "server/test_engine": "server.index server.retrieval",
}
"""Test file to the modules that it tests through a caller of theirs."""


@cache
def modules() -> frozenset[str]:
    """Every module, by its name below the package."""
    files = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return frozenset(".".join(file.with_suffix("").parts) for file in files if file.name[0] != "_")


@cache
def files_of_tests() -> tuple[Path, ...]:
    """Test files below a folder, relative to the folder of all tests."""
    found = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return tuple(file for file in sorted(found) if len(file.parts) > 1)


def module_of(file: Path) -> str | None:
    """The module that the name of a test file begins with, the longest if there are several."""
    folder = ".".join(file.parts[:-1])
    words = file.stem.removeprefix("test_").split("_")
    names = (f"{folder}.{'_'.join(words[:n])}" for n in range(len(words), 0, -1))
    # A package may be tested as one.
    packages = {module.rpartition(".")[0] for module in modules()}
    return next((name for name in names if name in modules() | packages), None)


def imported(file: Path) -> set[str]:
    """Modules that a test file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    return {name.removeprefix("pytest_rageval.") for name in found}


def test_every_folder_mirrors_a_package_or_says_what_it_holds() -> None:
    folders = {file.parts[0] for file in files_of_tests()}
    packages = {module.split(".")[0] for module in modules()}
    assert folders - packages - OTHER_FOLDERS.keys() == set()


def test_every_file_is_named_after_a_module_and_an_aspect() -> None:
    left_out = OTHER_FOLDERS.keys() | NAMED_AFTER_BEHAVIOUR.keys()
    found = [
        str(f) for f in files_of_tests() if f.parts[0] not in left_out and module_of(f) is None
    ]
    assert found == []


def test_every_module_is_tested_from_the_folder_of_its_package() -> None:
    tested = {module_of(file) for file in files_of_tests()}
    for file in files_of_tests():
        package = ".".join(file.parts[:-1])
        tested |= {name for name in imported(file) if name.startswith(f"{package}.")}
    tested |= {module for names in TESTED_BY.values() for module in names.split()}
    lacking = modules() - tested - WITHOUT_BEHAVIOUR.keys()
    assert sorted(m for m in lacking if m.split(".")[0] not in NAMED_AFTER_BEHAVIOUR) == []


def test_the_lists_name_what_there_is() -> None:
    named = {module for names in TESTED_BY.values() for module in names.split()}
    assert (named | WITHOUT_BEHAVIOUR.keys()) - modules() == set()
    assert [name for name in TESTED_BY if not (TESTS / f"{name}.py").is_file()] == []
    assert [name for name in OTHER_FOLDERS if not (TESTS / name).is_dir()] == []
