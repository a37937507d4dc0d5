from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.analysis.stats.agreement import kappa, krippendorff_alpha
from pytest_rageval.authoring.labelling.store import LabelEntry, SeenChunk, agreement_document


def entries(marks: Mapping[str, Mapping[str, str]]) -> list[LabelEntry]:
    """By annotator and case: a letter for every chunk, x marked, - not, blank not seen."""
    return [
        LabelEntry(
            annotator=name,
            file="c.jsonl",
            id=case_id,
            answerable="x" in row,
            chunks=tuple(
                SeenChunk(rel_path="a", heading_path=None, text_hash=str(i), marked=mark == "x")
                for i, mark in enumerate(row)
                if mark != " "
            ),
        )
        for name, cases in marks.items()
        for case_id, row in cases.items()
    ]


ANN = {"one": "xx--", "two": "x---", "three": "----"}
BOB = {"one": "x---", "two": "xx--", "three": "----"}


def test_two_annotators_have_cohens_kappa_by_chunk_and_by_case() -> None:
    document = agreement_document(entries({"ann": ANN, "bob": BOB}))
    rows = ["".join(cases[case_id] for case_id in ANN) for cases in (ANN, BOB)]
    a, b = ([float(mark == "x") for mark in row] for row in rows)
    chunks = document["chunks"]
    assert chunks["statistic"] == "cohen_kappa"
    assert chunks["value"] == kappa(a, b, categories=(0.0, 1.0))
    assert (chunks["n"], chunks["n_cases"], chunks["observed"]) == (12, 3, 10 / 12)
    assert chunks["low"] <= chunks["value"] <= chunks["high"]
    assert (document["answerable"]["value"], document["answerable"]["n"]) == (1.0, 3)
    assert document["annotators"] == {"ann": 3, "bob": 3}


def test_three_annotators_with_gaps_have_krippendorffs_alpha() -> None:
    marks = {"ann": ANN, "bob": BOB, "cat": {"one": "xx- ", "four": "x---"}}
    document = agreement_document(entries(marks))
    data = [
        [float(m == "x") if m != " " else None for c in ("one", "two", "three", "four")
         for m in cases.get(c, "    ")]
        for cases in marks.values()
    ]  # fmt: skip
    assert document["chunks"]["statistic"] == "krippendorff_alpha"
    assert document["chunks"]["value"] == krippendorff_alpha(data, level="nominal")
    assert (document["chunks"]["n"], document["chunks"]["n_cases"]) == (12, 3)


def test_only_the_last_label_of_a_case_counts() -> None:
    found = agreement_document(
        [*entries({"ann": ANN}), *entries({"ann": {"one": "x---"}, "bob": BOB})]
    )
    assert found["chunks"]["observed"] == 11 / 12


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["ann", "bob", "cat"]),
        st.dictionaries(st.sampled_from("abc"), st.text("x- ", max_size=4), max_size=3),
        max_size=3,
    )
)
def test_agreement_is_at_most_one_whatever_is_labelled(marks: dict[str, dict[str, str]]) -> None:
    document = agreement_document(entries(marks))
    for key in ("chunks", "answerable"):
        value, observed = document[key]["value"], document[key]["observed"]
        assert value is None or -1 <= value <= 1
        assert observed is None or 0 <= observed <= 1
        assert (value == 1) == (observed == 1 and value is not None)
