from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import fit_offline_judge as bench
from benchmarks import offline_judge_speed as speed
from pytest_rageval.judges.offline.parameters import Layer, load_parameters
from tests.shared_data import shared_path

DOCS = Path(__file__).parents[2] / "docs" / "judges.md"


def row(answer: str, label: str = "grounded", **fields: Any) -> dict[str, Any]:
    usual = {"id": "1", "question": "q", "context": "Backups stay.", "source": "one"}
    return {**usual, "answer": answer, "label": label, **fields}


# --- fitting ---------------------------------------------------------------------------------


def test_a_layer_finds_the_weights_that_made_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "RIDGE", 0.0)
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, (20_000, 2))
    chance = 1 / (1 + np.exp(-(3 * x[:, 0] - 2 * x[:, 1] - 0.5)))
    labels = (rng.uniform(0, 1, len(x)) < chance).astype(float)
    weights = np.full(len(x), 1 / len(x))
    layer = bench.fit_layer(("for", "against"), x, labels, weights, {"against": 0.0})
    assert layer.weights["for"] == pytest.approx(3, abs=0.3)
    assert layer.weights["against"] == pytest.approx(-2, abs=0.3)
    assert layer.intercept == pytest.approx(-0.5, abs=0.15)


def test_a_weight_keeps_its_sign_and_its_least_cost() -> None:
    x = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    labels = np.array([0.0, 0.0, 1.0, 1.0])
    layer = bench.fit_layer(("for", "against"), x, labels, np.full(4, 0.25), {"against": -2.0})
    assert layer.weights == {"for": 0.0, "against": -2.0}


def test_the_intercept_settles_where_means_agree() -> None:
    odds, labels, weights = np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])
    intercept = bench.settle_intercept(odds, labels, weights)
    assert intercept == pytest.approx(-1, abs=0.001)


def test_sources_and_labels_weigh_alike() -> None:
    weights = bench.balance([("a", True), ("a", True), ("a", False), ("b", True)])
    assert weights.tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3])


def test_a_source_is_scored_by_a_fit_that_has_not_seen_it() -> None:
    answers = bench.read_grounding([row("Backups stay."), row("Zebras graze.", source="two")])
    seen: list[set[str]] = []

    def fit(part: Any) -> Layer:
        seen.append({answer.group for answer in part})
        return load_parameters().grounded

    scores = bench.unseen_scores(answers, "groundedness", fit)
    assert seen == [{"two"}, {"one"}]
    assert [scores[id(answer)] for answer in answers] == pytest.approx([4.5, 0.0], abs=0.2)


# --- floors and ceilings ---------------------------------------------------------------------


def test_the_floors_are_word_overlap_and_containment() -> None:
    assert bench.overlap(row("Backups are zebras [1].")) == 0.5
    assert bench.contained(row("Of 30 Days.", reference=["30 days", "a month"])) == 1
    assert bench.contained(row("Of 90 days.", reference=["30 days"])) == 0


def test_the_ceiling_is_one_rater_against_the_others() -> None:
    rows = [row("a", ratings={"faithfulness": r}) for r in ([4, 4, 4], [1, 1, 1], [4, 1, 1])]
    # Against the label of the other two: 4 4 4 | 1 1 1 | 4 foretells bad, 1 and 1 foretell bad
    # (the median of 4 and 1 is 2.5).
    assert bench.measure_raters(rows) == pytest.approx(1 - 0.5 * 3 / 18)
    assert bench.measure_raters([row("a")]) is None


def test_abstention_leaves_out_partial_and_clarify() -> None:
    labels = ("abstain", "answer", "partial", "clarify", "abstain")
    answers = ("I do not know.", "Blue.", "I do not know.", "Which?", "Blue.")
    rows = [row(a, label) for a, label in zip(answers, labels, strict=True)]
    found = bench.measure_abstention(rows)["one"]
    assert (found.precision, found.recall) == (1.0, 0.5)


def test_a_folder_without_labels_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(["--labels", "no/such/folder"])
    assert "no folder 'no/such/folder', expected the label files" in capsys.readouterr().err


def test_speed_is_printed_per_rubric(capsys: pytest.CaptureFixture[str]) -> None:
    assert speed.main(["--answers", "3", "--json"]) == 0
    rates = json.loads(capsys.readouterr().out)["per_second"]
    assert list(rates) == [
        "groundedness, new passages",
        "groundedness, known passages",
        "correctness",
    ]
    assert all(rate > 0 for rate in rates.values())


def test_speed_texts_are_the_same_again() -> None:
    assert speed.make_requests(3) == speed.make_requests(3)


# --- on the shared labels --------------------------------------------------------------------


@cache
def report() -> bench.Report:
    return bench.report(shared_path("data", "labels"))


@pytest.mark.slow
def test_the_stored_numbers_are_what_the_script_fits() -> None:
    stored = json.loads(bench.TARGET.read_text(encoding="utf-8"))
    for name, layer in report().parameters.items():
        assert stored[name]["intercept"] == pytest.approx(layer["intercept"], abs=0.005)
        assert stored[name]["weights"] == pytest.approx(layer["weights"], abs=0.005)


@pytest.mark.slow
def test_the_page_shows_what_the_script_prints() -> None:
    assert bench.render_tables(report()) in DOCS.read_text(encoding="utf-8")


@pytest.mark.slow
def test_unseen_sources_are_judged_as_well_as_promised() -> None:
    found = report()
    unseen = {row.name: row.unseen for row in (*found.groundedness, *found.correctness)}
    assert sum(row.unseen for row in found.groundedness) / len(found.groundedness) >= 0.80
    assert unseen["evouna-nq"] >= 0.85
    for rates in found.abstention.values():
        assert (rates.precision or 0) >= 0.75
        assert (rates.recall or 0) >= 0.80
