"""The test function of a case whose set brings none of its own.

It lives in a module of its own because pytest collects a case file as a module.
"""

from __future__ import annotations


def test_case(
    rag_client: object,
    judge: object,
    _rageval_second_judge: object,  # noqa: PT019 - a fixture with a value, and no user's business
) -> None:
    """Name what a case is asked with; ``CaseItem.runtest`` asks, scores, judges and records it.

    Here, because the ``request`` that leads from a function to its item costs as much as all
    other fixtures of a case together.
    """


# A project may set ``python_functions`` to something that does not match the name above.
test_case.__test__ = True  # type: ignore[attr-defined]
