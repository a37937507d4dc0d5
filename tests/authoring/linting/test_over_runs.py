"""Cases that stored runs show to be wrong or to tell nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from pytest_rageval.authoring.linting.anchors import AnchorIndex
from pytest_rageval.authoring.linting.over_runs import SetAudit, audit_runs, p_of_weaker
from pytest_rageval.authoring.notes import parse_note
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import GitState, StoredRun
from tests.build.records import changed, record
from tests.build.runs import SETTINGS, side

N, RUNS = 60, 12
BAD = {
    "wrong-answer": "suspect-gold",
    "wrong-place": "suspect-gold",
    "dead-1": "never-passes",
    "dead-2": "never-passes",
    "dead-3": "never-passes",
    "turned": "inverted",
    "gone": "unwinnable",
}
"""The planted cases, and what each is found to be."""


def chunk(name: str) -> RetrievedChunk:
    return RetrievedChunk(rel_path=f"{name}.md", heading_path="# A", text=f"All about {name}.")


def answered(name: str, outcome: Any, found: Sequence[str], **given: Any) -> CaseRecord:
    """Record of a case with a gold of its own name, and passages of some documents."""
    fields: dict[str, Any] = {
        "outcome": outcome,
        "gold_supports": (Anchor(rel_path=f"{name}.md", snippets=(f"about {name}",)),),
        "retrieved_chunks": tuple(map(chunk, found)),
        "answer": given.pop("answer", f"Something about {name}."),
        "case_hash": name,
    }
    metrics = {"hit_at_k": float(name in found), "over_abstention_rate": 0.0, **given}
    return record(name, metrics, **fields)


def ordinary(n: int, run: int, noise: Random) -> CaseRecord:
    """A case that the better runs pass, and one time in ten the others."""
    name, threshold = f"c{n:02}", n * 11 // (N - len(BAD))
    passes = (run >= threshold) != (noise.random() < 0.1)
    found = [name, "dead-1", "dead-2"] if passes else ["dead-3"]
    scores = {"groundedness": 5.0, "correctness": 5.0} if passes else {}
    return answered(name, "passed" if passes else "missed", found, **scores)


def planted(run: int, noise: Random) -> list[CaseRecord]:
    """The seven cases that are wrong or tell nothing; one answer in ten is not grounded."""
    passes = run < RUNS / 2
    wordings = ("It takes 45 days.", "You have 45 days.", "45 days.")
    told, placed = (
        {"groundedness": 1.0 if noise.random() < 0.1 else 5.0, "correctness": 1.0} for _ in "ab"
    )
    return [
        answered("wrong-answer", "flawed", ["wrong-answer"], attribution_hit_rate=1.0, **told),
        answered("wrong-place", "missed", ["c01"], answer=noise.choice(wordings), **placed),
        *(answered(f"dead-{i}", "missed", ["c02"], correctness=0.0) for i in (1, 2, 3)),
        answered("turned", "passed" if passes else "missed", ["turned"] if passes else []),
        answered("gone", "missed", ["c03"]),
    ]


def runs_of(every: Iterable[Iterable[CaseRecord]], *, alike: bool = False) -> list[StoredRun]:
    found = []
    for n, records in enumerate(every):
        settings = SETTINGS if alike else replace(SETTINGS, params={"temperature": n})
        run = side([*records], settings, f"r{n}")
        git = GitState(commit="0" * 40, dirty=False)
        found.append(replace(run, config=replace(run.config, git=git)))
    return found


def named(audit: SetAudit) -> dict[str | None, str]:
    return {one.case_id: one.rule for one in audit.findings}


def planted_set(n_runs: int = RUNS) -> list[StoredRun]:
    cases, noise = range(N - len(BAD)), Random(0)
    return runs_of(
        [*(ordinary(n, run, noise) for n in cases), *planted(run, noise)] for run in range(n_runs)
    )


def test_seven_planted_cases_of_sixty_are_all_named_and_none_else() -> None:
    found = audit_runs(planted_set())
    assert named(found) == BAD
    assert (found.n_cases, found.n_runs) == (N, RUNS)
    assert {*found.never_pass} == BAD.keys() - {"turned"}


def test_a_case_is_not_called_inverted_by_what_chance_gives_in_few_runs() -> None:
    assert "turned" not in named(audit_runs(planted_set(8)))


def test_two_runs_say_nothing_of_a_case() -> None:
    found = audit_runs(planted_set(2))
    assert (found.findings, found.n_cases, found.n_few) == ((), 0, N)


def test_cases_that_always_pass_are_counted_and_named() -> None:
    easy = [answered("easy", "passed", ["easy"]), answered("c", "passed", ["c"])]
    found = audit_runs(runs_of([easy, easy, easy]))
    assert found.always_pass == ("c", "easy")
    assert (found.findings, found.smallest_drop, found.n_effective) == ((), None, 0.0)


def test_effective_n_is_the_number_of_equal_cases_that_tell_as_much() -> None:
    # Of four cases two pass in half of the runs and two in all.
    turns = [["passed", "missed"], ["missed", "passed"]] * 2
    runs = [
        [answered(f"v{i}", one, [f"v{i}"]) for i, one in enumerate(outcomes)]
        + [answered(f"e{i}", "passed", [f"e{i}"]) for i in range(2)]
        for outcomes in turns
    ]
    found = audit_runs(runs_of(runs))
    assert found.n_effective == pytest.approx(2)
    # Standard error sqrt(2 * (1/3 + 1/3)) / 4, times 1.6449 + 0.8416; 1/3 = 4/3 * 1/4.
    assert found.smallest_drop == pytest.approx(0.7178, abs=1e-4)


def test_only_runs_of_the_newest_content_of_a_case_count() -> None:
    new = planted(0, Random(0))
    old = [changed(one, case_hash="older") for one in new]
    found = audit_runs(runs_of([old, old, old, new]))
    assert (found.n_cases, found.n_few) == (0, len(BAD))


def test_a_case_that_varies_under_equal_settings_is_unstable() -> None:
    runs = [[answered("c", one, ["c"])] for one in ("passed", "missed", "passed", "passed")]
    found = audit_runs(runs_of(runs, alike=True))
    assert named(found) == {"c": "unstable"}
    assert "3 of 4" in found.findings[0].message
    assert named(audit_runs(runs_of(runs))) == {}


def test_errors_and_unchecked_cases_are_no_outcome() -> None:
    runs = [[answered("c", one, ["c"])] for one in ("error", "passed", "passed", "error")]
    assert audit_runs(runs_of(runs)).n_few == 1


@pytest.mark.parametrize(
    ("answers", "is_suspect"),
    [
        (["It takes 45 days."] * 4, True),
        (["It takes 45 days."] * 3 + ["It takes 30 days."], True),
        (["It takes 45 days.", "It takes 30 days."] * 2, False),
        (["It takes 45 days."] * 2, False),
    ],
)
def test_most_answers_must_agree_before_a_gold_is_suspected(
    answers: list[str], is_suspect: bool
) -> None:
    scores = {"groundedness": 5.0, "correctness": 0.0}
    runs = [
        [answered("c", "missed", ["x"], answer=answer, **scores)]
        for answer in [*answers, *(["?"] if len(answers) < 3 else [])]
    ]
    assert ("suspect-gold" in named(audit_runs(runs_of(runs))).values()) is is_suspect


def test_correct_answers_from_other_passages_suspect_the_place_of_the_gold() -> None:
    case = answered("c", "missed", ["x"], groundedness=5.0, correctness=5.0)
    assert named(audit_runs(runs_of([[case]] * 3))) == {"c": "suspect-gold"}


@pytest.mark.parametrize(("n_bad", "named_ones"), [(2, 2), (3, 3), (4, 0)])
def test_more_suspects_than_a_tenth_speak_against_the_target(n_bad: int, named_ones: int) -> None:
    right = {"groundedness": 5.0, "correctness": 5.0}
    wrong = {"groundedness": 5.0, "correctness": 0.0}
    run = [answered(f"c{i}", "passed", [f"c{i}"], **right) for i in range(30 - n_bad)]
    run += [answered(f"w{i}", "flawed", [f"w{i}"], **wrong) for i in range(n_bad)]
    found = audit_runs(runs_of([run] * 3))
    assert [*named(found).values()].count("suspect-gold") == named_ones
    assert found.n_suspected == (0 if named_ones else n_bad)


def test_a_gold_that_the_documents_hold_is_not_unwinnable() -> None:
    index = AnchorIndex([parse_note("c.md", b"# A\n\nAll about c.\n")])
    case = answered("c", "missed", ["x"])
    runs = runs_of([[case]] * 3)
    assert named(audit_runs(runs)) == {"c": "unwinnable"}
    assert named(audit_runs(runs, index.check)) == {"c": "never-passes"}
    assert named(audit_runs(runs, AnchorIndex([]).check)) == {"c": "unwinnable"}


@pytest.mark.parametrize(("groups", "rule"), [(((0, 1),), "unwinnable"), (None, "never-passes")])
def test_one_lost_gold_matters_where_a_group_needs_it(groups: Any, rule: str) -> None:
    golds = (Anchor(rel_path="c.md"), Anchor(rel_path="lost.md"))
    case = changed(
        answered("c", "missed", ["c"]), gold_supports=golds, required_support_groups=groups
    )
    assert named(audit_runs(runs_of([[case]] * 3))) == {"c": rule}


@pytest.mark.parametrize(
    ("won", "lost"),
    [([0.1, 0.2, 0.3], [0.4, 0.5]), ([0.4], [0.1, 0.2]), ([0.2, 0.2, 0.5], [0.2, 0.3, 0.6, 0.6])],
)
def test_the_p_of_weaker_runs_is_that_of_all_ways_to_choose_them(
    won: list[float], lost: list[float]
) -> None:
    values = [*won, *lost]

    def rank(value: float) -> Fraction:
        places = [n for n, one in enumerate(sorted(values), start=1) if one == value]
        return Fraction(sum(places), len(places))

    sums = [sum(map(rank, some)) for some in itertools.combinations(values, len(won))]
    expected = sum(one <= sum(map(rank, won)) for one in sums) / len(sums)
    assert p_of_weaker(won, lost) == pytest.approx(expected)
