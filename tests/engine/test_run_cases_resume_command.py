from __future__ import annotations

import pytest

from pytest_rageval.engine.run_cases import resume_command


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ([], "pytest --rageval-resume r"),
        (["evals", "--rag-k", "3"], "pytest evals --rag-k 3 --rageval-resume r"),
        (["-k", "a or b"], "pytest -k 'a or b' --rageval-resume r"),
        (["--rageval-resume", "last", "-n2"], "pytest -n2 --rageval-resume r"),
        (["evals", "--sw", "--stepwise-skip", "-v"], "pytest evals -v --rageval-resume r"),
        (["--rageval-run-id=x", "--rageval-resume=r"], "pytest --rageval-resume r"),
        (
            ["--rag-param", "api_key=hunter2", "--rag-param=apiToken=hunter2"],
            "pytest --rag-param 'api_key=***' '--rag-param=apiToken=***' --rageval-resume r",
        ),
        (
            ["--rag-param", "max_tokens=5", "-k", "secret"],
            "pytest --rag-param max_tokens=5 -k secret --rageval-resume r",
        ),
    ],
)
def test_what_was_typed_is_repeated_under_the_name_of_the_run(typed: list[str], shown: str) -> None:
    assert resume_command(typed, "r") == shown
