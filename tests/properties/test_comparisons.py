"""Comparisons of any two runs: what holds whatever they hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.analysis.compare.metrics import PairedComparison, compare_records
from pytest_rageval.values.record import CaseRecord
from tests.build.records import record

MIRRORED = {
    "better": "worse",
    "worse": "better",
    "same": "same",
    "equal": "equal",
    "unclear": "unclear",
}
VALUES = st.sampled_from([None, 0.0, 0.5, 1.0])


@st.composite
def runs(draw: st.DrawFn) -> list[CaseRecord]:
    ids = draw(st.lists(st.integers(0, 12), unique=True, max_size=12))
    return [draw(records(f"c{i}", cluster=f"d{i % 4}" if i % 3 else None)) for i in ids]


@st.composite
def records(draw: st.DrawFn, /, case_id: str, **fields: Any) -> CaseRecord:
    hit = draw(st.sampled_from([None, 0.0, 1.0]))
    return record(
        case_id,
        {"hit_at_k": hit, "mrr": draw(VALUES), "over_abstention_rate": draw(VALUES)},
        case_hash=draw(st.sampled_from(["same", "same", "same", "other"])),
        outcome="passed" if hit else "missed",
        **fields,
    )


def opposite(value: float | None) -> float | None:
    return None if value is None else -value


def close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) < 1e-9


def plain(found: PairedComparison) -> object:
    return found.pairing, dict(found.metrics), found.flips, found.newly_missed


@given(runs(), runs(), st.randoms(use_true_random=False))
def test_a_comparison_takes_every_case_in_any_order_and_mirrors_the_other_way_round(
    base: list[CaseRecord], new: list[CaseRecord], order: Any
) -> None:
    there, back = compare_records(base, new), compare_records(new, base)
    assert there.metrics.keys() == back.metrics.keys()
    for key, one in there.metrics.items():
        other = back.metrics[key]
        assert close(one.delta, opposite(other.delta))
        assert close(one.low, opposite(other.high))
        assert close(one.high, opposite(other.low))
        assert close(one.p, other.p)
        assert one.verdict == MIRRORED[other.verdict]
        assert (one.n, one.n_base_only, one.n_new_only) == (
            other.n,
            other.n_new_only,
            other.n_base_only,
        )
        assert one.n <= there.n_paired
        assert (one.delta is None) == (one.n == 0)
    mirrored = {(f.case_id, MIRRORED[f.direction]) for f in back.flips}
    assert {(f.case_id, f.direction) for f in there.flips} == mirrored
    assert there.n_paired + there.n_left_out == len({r.case.id for r in (*base, *new)})
    order.shuffle(base)
    order.shuffle(new)
    assert plain(compare_records(base, new)) == plain(there)


@settings(max_examples=20)
@given(runs())
def test_a_run_does_not_differ_from_itself(run: list[CaseRecord]) -> None:
    found = compare_records(run, run)
    assert found.flips == ()
    assert found.newly_missed == ()
    assert {change.delta for change in found.metrics.values()} <= {0.0, None}
    assert {change.verdict for change in found.metrics.values()} <= {"same", "equal"}
