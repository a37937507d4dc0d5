import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.inbox.collect import Collected, collect


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def requests(**kinds: int) -> list[dict[str, Any]]:
    """Return rows of a log: so many of each question, all answered."""
    return [
        {
            "id": f"{name}-{n}",
            "question": f"what is {name} about",
            "answer": "It is.",
            "contexts": ["x"],
        }
        for name, count in kinds.items()
        for n in range(count)
    ]


def weights(found: Collected) -> dict[str, float]:
    return {line["question"].split()[2]: line["metadata"]["weight"] for line in found.lines}


def test_near_equal_questions_are_one_family_with_its_share(tmp_path: Path) -> None:
    texts = ["How do I get a refund", "how do I get a refund?", "Hi! How do I get a refund?"]
    others = ["How do I get form 12", "How do I get form 13"]
    rows: list[dict[str, Any]] = [{"question": text} for text in (*texts, *others)]

    found = collect([write(tmp_path / "log.jsonl", rows)], "jsonl")
    sizes = sorted(line["metadata"]["family"]["size"] for line in found.lines)

    assert sizes == [1, 1, 3]
    assert max(line["metadata"]["family"]["share"] for line in found.lines) == 0.6


def test_groups_are_sampled_evenly_and_weigh_what_they_stand_for(tmp_path: Path) -> None:
    rows = requests(**{f"topic{n}" + "abcdefgh"[n % 8] * 3: 1 for n in range(40)})
    for row in rows[:10]:
        row["feedback"] = "down"
    path = write(tmp_path / "log.jsonl", rows)

    found = collect([path], "jsonl", sample=10, by=["random", "thumbs_down"])
    by = Counter(line["metadata"]["by"] for line in found.lines)

    assert by == {"random": 5, "thumbs_down": 5}
    assert sum(weights(found).values()) == pytest.approx(40)
    assert found.tally.strata == {"random": (30, 5), "thumbs_down": (10, 5)}
    again = collect([path], "jsonl", sample=10, by=["random", "thumbs_down"])
    assert again.lines == found.lines


@settings(deadline=None, max_examples=25)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    sample=st.integers(1, 15) | st.none(),
)
def test_weights_of_all_families_of_a_group_add_up_by_families(
    counts: list[int], sample: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kinds = {"abcdefghijkl"[n] * 4: count for n, count in enumerate(counts)}
    path = write(tmp_path_factory.mktemp("log") / "log.jsonl", requests(**kinds))

    found = collect([path], "jsonl", sample=sample)
    n = min(sample or len(counts), len(counts))

    assert len(found.lines) == n
    assert weights(found) == {
        name: pytest.approx(kinds[name] * len(counts) / n) for name in weights(found)
    }


def test_a_request_in_a_group_stands_for_its_family(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "liked", "question": "Where is it?", "answer": "There.", "rating": "up"},
        {"id": "disliked", "question": "where is it", "answer": "Nowhere.", "rating": "down"},
        {"id": "declined", "question": "Who is it?", "answer": "I don't know."},
        {"id": "empty", "question": "When is it?", "answer": "Now.", "contexts": []},
    ]
    path = write(tmp_path / "log.jsonl", rows)

    found = collect([path], "jsonl", by=["thumbs_down", "abstained", "no_chunks"])

    assert {line["metadata"]["by"]: line["metadata"]["trace"] for line in found.lines} == {
        "thumbs_down": "disliked", "abstained": "declined", "no_chunks": "empty",
    }  # fmt: skip


def test_a_disliked_answer_does_not_stand_for_the_others_to_its_question(tmp_path: Path) -> None:
    rows = requests(tea=10, cake=4)
    for row in rows[:3]:
        row["feedback"] = "down"

    found = collect([write(tmp_path / "log.jsonl", rows)], "jsonl", by=["random", "thumbs_down"])
    lines = {(one["question"].split()[2], one["metadata"]["by"]): one for one in found.lines}

    assert {key: one["metadata"]["weight"] for key, one in lines.items()} == {
        ("tea", "random"): 7, ("tea", "thumbs_down"): 3, ("cake", "random"): 4,
    }  # fmt: skip
    assert {one["metadata"]["family"]["size"] for key, one in lines.items() if "tea" in key} == {10}
    assert found.tally.families == 2
    left = collect([tmp_path / "log.jsonl"], "jsonl", by=["thumbs_down"]).tally.left_out
    assert left == 11


def test_weighted_answers_estimate_those_of_the_log_without_bias(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = requests(**{f"topic{n}" + "abcdefgh"[n % 8] * (n + 3): n % 7 + 1 for n in range(60)})
    for row in rows:
        if draw.random() < 0.3:
            row |= {"answer": "I don't know.", "feedback": draw.choice(["down", None])}
    truth = sum("don't" in row["answer"] for row in rows) / len(rows)
    means = []
    for seed in range(10):  # other traces, other draws within a family
        again = [{**row, "id": f"{row['id']}/{seed}"} for row in rows]
        path = write(tmp_path / "log.jsonl", again)
        found = collect([path], "jsonl", by=["random", "thumbs_down"]).lines
        weight = {one["id"]: one["metadata"]["weight"] for one in found}
        failed = sum(weight[one["id"]] for one in found if "don't" in one["response"]["answer"])
        means.append(failed / sum(weight.values()))

    assert sum(means) / len(means) == pytest.approx(truth, abs=0.03)


def test_the_longest_tenth_is_long(tmp_path: Path) -> None:
    rows = requests(**{"abcdefghijklmnopqrst"[n] * 5: 1 for n in range(20)})
    rows[3]["answer"] = "It is. " * 50
    rows[7]["answer"] = "It is. " * 60

    found = collect([write(tmp_path / "log.jsonl", rows)], "jsonl", by=["long"])

    assert {line["metadata"]["trace"] for line in found.lines} <= {rows[3]["id"], rows[7]["id"]}
    assert found.lines
    assert found.tally.left_out == 20 - len(found.lines)
