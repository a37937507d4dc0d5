"""Sentences of a headline."""

from __future__ import annotations

from pytest_rageval.values.headline import Headline, Named, Pattern, Since


def test_names_that_are_not_listed_are_counted() -> None:
    assert Named(n=3, names=("a", "b")).counted("fixed") == "3 fixed: a, b and 1 more"
    assert Named().counted("fixed") == "0 fixed"


def test_a_change_from_nothing_has_no_ratio() -> None:
    since = Since(name="main", run_id="r1", n=1, cost_usd=(0.0, 0.5))
    assert since.rates == ("answers dearer",)


def test_a_redacted_headline_names_no_document() -> None:
    kinds = ("document", "section", "folder", "category")
    patterns = [
        Pattern(code="group", facts={"n": 2, "of": 2, "where": "about a.md", "kind": kind})
        for kind in kinds
    ]
    found = Headline(patterns=tuple(patterns), worst="a").without_names

    assert [one.facts["kind"] for one in found.patterns] == ["category"]
    assert found.worst == "a"
