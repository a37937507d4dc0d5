"""The test function of cases whose set does not define one.

It is in a separate module because pytest collects a case file as a module.
"""

from __future__ import annotations


def test_case(
    rag_client: object,
    judge: object,
    _rageval_second_judge: object,  # noqa: PT019 - a private fixture with a value
) -> None:
    """Request the clients of a case; ``CaseItem.runtest`` asks, scores, judges and records it.

    The body is empty because the ``request`` fixture, which leads to the item, costs as much as all
    other fixtures of a case together.
    """


# A project may set ``python_functions`` to something that does not match the name above.
test_case.__test__ = True  # type: ignore[attr-defined]
