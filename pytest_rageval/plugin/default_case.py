"""Cases of a set without a test function of its own."""

# In a module of its own, since pytest collects a case file as a module. Users read both docstrings:
# ``--collect-only -v`` prints them.

from __future__ import annotations


def test_case(
    rag_client: object,
    judge: object,
    _rageval_second_judge: object,  # noqa: PT019 - a private fixture with a value
) -> None:
    """Ask, score and judge the case."""
    # Done by ``CaseItem.runtest``: the ``request`` fixture, which leads to the item, costs as much
    # as all other fixtures of a case together.


# A project may set ``python_functions`` to something that does not match the name above.
test_case.__test__ = True  # type: ignore[attr-defined]
