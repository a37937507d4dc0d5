"""Reasons of cases for allure-pytest, whose listener is imitated here; the true one is among the
plug-ins of ``test_neighbours``."""

from __future__ import annotations

from tests.plugin.scratch import CONFTEST, SERIAL_AND_PARALLEL, Project, case

LISTENING = """
class Listener:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.excinfo is not None:
            said = f"{getattr(report, 'wasxfail', '')} | {call.excinfo.exconly()}"
            report.user_properties.append(("allure", said))
        return report


class Retrying:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        report.user_properties.append(("raised", call.excinfo is not None))
        return report


def pytest_configure(config):
    config.pluginmanager.register(Retrying())
    config.pluginmanager.register(Listener(), "allure_listener")


def pytest_runtest_logreport(report):
    seen = dict(report.user_properties)
    if report.when == "call" and "raised" in seen:  # a check of the gate has no call
        print(f"\\nseen {report.nodeid.partition('::')[2]} {seen.get('allure')} {seen['raised']}")
"""


@SERIAL_AND_PARALLEL
def test_the_reason_is_an_exception_for_allure_alone(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.write("conftest.py", CONFTEST + LISTENING)
    project.cases([case("a", "hit"), case("b", "miss"), case("c", "miss", required=True)])
    result = project.run("-s", *workers)
    reason = "not_retrieved: hit_at_k 0, recall_at_k 0"
    assert sorted(line for line in result.outlines if line.startswith("seen")) == [
        "seen a None False",
        f"seen b {reason} | Failed: missed False",
        f"seen c  | Failed: evals/eval_set.jsonl:3: {reason} False",
    ]


def test_the_exception_of_a_test_function_stays(project: Project) -> None:
    project.write("conftest.py", CONFTEST + LISTENING)
    own = "def test_case(eval_record):\n    assert eval_record.outcome == 'passed', 'not good'\n"
    project.write("evals/eval_set.py", own)
    project.cases([case("b", "miss")])
    result = project.run("-s")
    result.stdout.fnmatch_lines(["seen b  | AssertionError: not good", "*+ missed True"])


def test_other_sessions_have_no_exception(project: Project) -> None:
    project.write("conftest.py", CONFTEST + LISTENING.replace('"allure_listener"', '"other"'))
    project.cases([case("b", "miss")])
    assert "seen b None False" in project.run("-s").outlines
