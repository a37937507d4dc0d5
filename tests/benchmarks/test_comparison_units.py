"""The unit of a comparison is chosen by what it sees and by how often it errs."""

from __future__ import annotations

import pytest

from benchmarks.comparison_units import CHOSEN, SCENES, rate

SPREAD, LOST, NOTHING, SHARED = SCENES


@pytest.mark.slow
@pytest.mark.parametrize("documents", [6, 10, 15])
@pytest.mark.parametrize("scene", [SPREAD, LOST])
def test_a_drop_is_seen_with_few_documents(scene: str, documents: int) -> None:
    assert rate(CHOSEN, scene, 60, documents, 300) >= 0.75


@pytest.mark.parametrize("documents", [1, 6, 60])
def test_no_change_is_rarely_called_worse(documents: int) -> None:
    assert rate(CHOSEN, NOTHING, 60, documents, 150) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("documents", [10, 15, 30])
def test_noise_that_documents_share_is_seldom_called_worse(documents: int) -> None:
    assert rate(CHOSEN, SHARED, 60, documents, 300) <= 0.14
