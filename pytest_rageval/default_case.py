"""The test function of a case whose set brings none of its own.

It lives in a module of its own because pytest collects a case file as a module.
"""

from __future__ import annotations

import pytest


def test_case(
    request: pytest.FixtureRequest,
    rag_client: object,
    judge: object,
    _rageval_second_judge: object,
    rageval_settings: object,
) -> None:
    """Ask, score, judge and record the case; its outcome is read from the record."""
    request.node.measure(rag_client, judge, _rageval_second_judge)


# A project may set ``python_functions`` to something that does not match the name above.
test_case.__test__ = True  # type: ignore[attr-defined]
