from __future__ import annotations

import pytest

from tests.plugin.counting_client import REPLY
from tests.plugin.scratch import (
    CASES,
    CONFTEST,
    PYPROJECT,
    SERIAL_AND_PARALLEL,
    Project,
    case,
    outcomes,
)

CLIENTS = {
    "async function": """
@pytest.fixture(scope="session")
def rag_client():
    async def ask(request):
        return reply(request.question)
    return ask
""",
    "object with ask": """
class Engine:
    def ask(self, request):
        return reply(request.question)

@pytest.fixture(scope="session")
def rag_client():
    return Engine()
""",
    "object with async ask": """
class Engine:
    async def ask(self, request):
        return reply(request.question)

@pytest.fixture(scope="session")
def rag_client():
    return Engine()
""",
    "async fixture": """
@pytest.fixture(scope="session")
async def rag_client():
    return lambda request: reply(request.question)
""",
    "async generator fixture": """
import pathlib

@pytest.fixture(scope="session")
async def rag_client():
    yield lambda request: reply(request.question)
    pathlib.Path("closed").write_text("closed", encoding="utf-8")
""",
}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())
def test_any_kind_of_client_is_asked(project: Project, client: str) -> None:
    project.write("conftest.py", REPLY + client)
    result = project.run()
    assert result.ret == 0
    assert outcomes(result) == {"passed": 3, "missed": 1, "checks passed": 2}
    assert (project.path / "closed").exists() is ("closed" in client)


def test_a_conftest_beside_the_cases_overrides_the_one_above(project: Project) -> None:
    project.write("evals/conftest.py", CONFTEST.replace('"b.md"', '"a.md"'))
    assert outcomes(project.run()) == {"passed": 4, "checks passed": 2}


SETUPS = """
import collections
import pathlib

setups = collections.Counter()

@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    setups[fixturedef.argname] += 1
    return (yield)

@pytest.fixture(autouse=True)
def mine(vcr_cassette_dir):
    pass

def pytest_sessionfinish():
    text = " ".join(f"{name}={count}" for name, count in sorted(setups.items()))
    pathlib.Path("setups").write_text(text, encoding="utf-8")
"""
MARKED = """
def pytest_collection_modifyitems(items):
    items[1].add_marker(pytest.mark.block_network)
"""


@pytest.mark.parametrize(
    ("extra", "options", "recording"), [("", (), 0), (MARKED, (), 1), ("", ("--setup-show",), 4)]
)
def test_fixtures_of_recording_that_do_nothing_are_not_set_up(
    project: Project, extra: str, options: tuple[str, ...], recording: int
) -> None:
    project.write("conftest.py", CONFTEST + SETUPS + extra)
    project.run(*options)
    found = (project.path / "setups").read_text(encoding="utf-8").split()
    assert {"rag_client=1", "judge=1", "mine=4"} <= set(found)
    assert [word for word in found if word.startswith("vcr=")] == [f"vcr={recording}"][:recording]


@SERIAL_AND_PARALLEL
def test_a_fixture_that_returns_no_client_is_one_usage_error(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture(scope='session')\ndef rag_client(): return None\n",
    )
    result = project.run(*workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: rag_client: got None, expected an object with ask*"])


OWN_TEST = """
def test_it(eval_case, eval_record):
    assert eval_record.case.id == eval_case.id
    assert eval_record.answer != "The answer text." or eval_case.category != "multi_hop"
"""


def test_a_sibling_module_tests_every_case_in_its_own_way(project: Project) -> None:
    project.write("evals/eval_set.py", OWN_TEST)
    result = project.run()
    assert result.ret == 1
    said = "note     2 cases failed in a test function, which the gate does not count"
    assert said in result.outlines
    failed = sorted(line.split()[1] for line in result.outlines if line.startswith("FAILED "))
    assert failed == ["evals/eval_set.jsonl::ok-2", "evals/eval_set.jsonl::short-1"]
    assert len(project.records()) == len(CASES)


FAILS_ONCE = """
tried = []

def test_it(eval_case, eval_record):
    tried.append(eval_case.id)
    assert eval_case.id != "ok-1" or tried.count("ok-1") > 1
"""
RUNS_TWICE = """
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runtestprotocol(item, nextitem=nextitem)
    return True
"""


def test_a_case_that_passes_when_run_again_is_not_counted_as_failed(project: Project) -> None:
    project.write("conftest.py", CONFTEST + RUNS_TWICE)
    project.write("evals/eval_set.py", FAILS_ONCE)
    result = project.run()
    assert "1 failed" in result.stdout.str()
    assert "test function" not in result.stdout.str()


CHANGING_TEST = """
import copy, json, pickle

def test_it(eval_record):
    assert json.loads(json.dumps(eval_record.scores.metrics)) == eval_record.scores.metrics
    assert pickle.loads(pickle.dumps(eval_record)) == copy.deepcopy(eval_record) == eval_record
    own = dict(eval_record.scores.metrics)
    own["recall_at_k"] = 0.25
    eval_record.scores.metrics["recall_at_k"] = 0.25
"""


def test_a_test_that_changes_its_record_changes_no_file(project: Project) -> None:
    project.cases([case("ok-1", "hit one")])
    project.write("evals/eval_set.py", CHANGING_TEST)
    result = project.run()
    assert result.ret == 0
    assert project.records()["ok-1"]["metrics"]["recall_at_k"] == 1
    assert project.stored("metrics.json")["metrics"]["recall_at_k"]["mean"] == 1


def test_two_test_functions_beside_a_set_are_refused(project: Project) -> None:
    project.write("evals/eval_set.py", "def test_a(): pass\ndef test_b(): pass\n")
    result = project.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*exactly one test function*test_a, test_b*"])


@pytest.mark.parametrize("fixture", ["eval_case", "eval_record"])
def test_fixtures_of_cases_say_so_in_other_tests(project: Project, fixture: str) -> None:
    project.write("evals/test_plain.py", f"def test_it({fixture}): pass\n")
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*'{fixture}' belongs to evaluation cases*test_plain.py*"])


def test_a_broken_thresholds_file_does_not_touch_a_session_without_cases(
    project: Project,
) -> None:
    project.write("thresholds.toml", "= broken")
    project.write("pyproject.toml", PYPROJECT + 'retires = "typo"\n')
    project.write("tests/test_plain.py", "def test_it(): pass\n")
    result = project.run("tests")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1}
    assert "rageval:" not in result.stdout.str()


def test_the_plugin_can_be_switched_off(project: Project) -> None:
    project.write("tests/test_plain.py", "def test_it(): pass\n")
    result = project.run_apart("-p", "no:rageval", "tests")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1}


HEAVY = (
    "openai", "httpx", "httpcore", "h11", "aiohttp", "pydantic", "jinja2", "numpy", "starlette",
    "sqlalchemy", "rich",
)  # fmt: skip


def test_a_session_without_cases_imports_next_to_nothing(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_other(): pass")
    result = pytester.run(
        *(pytester._getpytestargs()[0], "-X", "importtime", "-m", "pytest"),
        *("-q", "-p", "no:anyio", "-p", "no:recording"),
    )
    assert result.ret == 0
    names = {line.split("|")[-1].strip() for line in result.errlines if "import time:" in line}
    assert "pytest" in names
    assert not {n for n in names if n.split(".")[0] in HEAVY}
    ours = {n for n in names if n.split(".")[0] == "pytest_rageval"}
    modules = ("plugin", "plugin.hooks", "plugin.hookspecs", "plugin.preflight")
    values = ("values", "values.declared", "values.limits", "values.settings")
    below = ("project", "project.discovery", "project.options", *values)
    expected = {f"pytest_rageval.{module}" for module in (*modules, *below)}
    assert "pytest_rageval.plugin.preflight" in ours
    assert ours <= {"pytest_rageval", *expected}


def test_an_async_fixture_of_our_name_is_left_alone_where_nothing_is_evaluated(
    project: Project,
) -> None:
    project.write(
        "tests/test_plain.py",
        "def test_it(judge): assert judge == 'theirs'\n",
    )
    project.write(
        "tests/conftest.py",
        "import pytest\n"
        "@pytest.fixture\n"
        "async def judge(): return 'ours'\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_fixture_setup(fixturedef, request):\n"
        "    import inspect\n"
        "    if fixturedef.argname == 'judge':\n"
        "        assert inspect.iscoroutinefunction(fixturedef.func)\n"
        "        fixturedef.cached_result = ('theirs', fixturedef.cache_key(request), None)\n"
        "        return 'theirs'\n",
    )
    result = project.run("tests")
    assert result.parseoutcomes() == {"passed": 1}
