"""Verdict of several random draws of a dose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.analysis.gate.planted import Dose, PlantedFault, is_settled, most_of


def draw(*failed: str, caught: bool = False, n: int = 1) -> Dose:
    return Dose(dose=0.1, text="10 %", n_changed=n, caught=caught or bool(failed), failed=failed)


@pytest.mark.parametrize(
    ("draws", "settled"),
    [
        ([draw("mrr")], False),
        ([draw("mrr")] * 2, True),
        ([draw()] * 2, True),
        ([draw("mrr"), draw()], False),
        ([draw(caught=True), draw()], False),
        ([draw("mrr"), draw("map")], False),
        ([draw("mrr"), draw("map"), draw("mrr")], True),
    ],
)
def test_draws_go_on_until_the_others_cannot_change_what_most_say(
    draws: list[Dose], settled: bool
) -> None:
    assert is_settled(draws) is settled


def test_most_draws_decide_and_the_middle_one_counts_the_answers() -> None:
    found = most_of([draw("mrr", n=1), draw("mrr", "map", n=5), draw(n=2)])
    assert (found.failed, found.caught, found.n_changed) == (("mrr",), True, 2)
    for few in ([draw("mrr"), draw(), draw()], [draw("mrr"), draw()]):
        assert (most_of(few).failed, most_of(few).caught) == ((), False)
    # Each draw fails another check, and the run fails in all.
    found = most_of([draw("a"), draw("b"), draw("c")])
    assert (found.failed, found.caught) == ((), True)


@pytest.mark.parametrize(
    ("doses", "caught", "warned", "found"),
    [
        ("", None, None, None),
        ("- - -", None, None, None),
        ("c c c", 0, 0, None),
        ("- w c", 2, 1, None),
        ("c w c", 2, 0, None),
        ("c - w", None, 2, None),
        ("m - m", None, None, 2),
        ("- m m", None, None, 1),
        ("c c -", None, None, None),
    ],
)
def test_a_fault_is_caught_from_the_dose_after_the_last_that_is_not(
    doses: str, caught: int | None, warned: int | None, found: int | None
) -> None:
    said = {
        "-": draw(),
        "c": draw("mrr"),
        "w": replace(draw(), warned=("mrr",)),
        "m": replace(draw(), would_fail=("map",)),
    }
    each = tuple(replace(said[of], dose=n) for n, of in enumerate(doses.split()))
    fault = PlantedFault(name="any", of="documents", doses=each)
    smallest = (fault.caught_from, fault.warned_from, fault.found_from("map"))
    assert [one and one.dose for one in smallest] == [caught, warned, found]
    assert fault.found_from("mrr") is None
    assert fault.missed is (caught is None and bool(doses))
