"""Parts of a system in which our stages lie."""

from __future__ import annotations

import pytest

from pytest_rageval.values.record import ANSWER_STAGES, STAGES, FailureStage
from pytest_rageval.values.run import part_of


@pytest.mark.parametrize("stage", STAGES)
def test_stages_of_an_answer_lie_in_the_answer(stage: FailureStage) -> None:
    of_answer = {*ANSWER_STAGES, "wrongly_abstained", "hallucinated"}
    assert part_of(stage) == ("answer" if stage in of_answer else "retrieval")
