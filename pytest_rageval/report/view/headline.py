"""The headline of a run as blocks: what is new, and what the failing cases share."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.report.view.blocks import Fact
from pytest_rageval.values.headline import Headline


def headline_facts(headline: Headline, *, public: bool = False) -> Iterator[Fact]:
    """Yield what is new since an earlier run, then the causes in common.

    Args:
        headline: of a run or a comparison.
        public: without text of the target.
    """
    since = headline.since
    if since is not None:
        bad = since.broke.n or since.erred.n
        verdict = f"{since.verdict.replace('_', ' ')}: " if since.verdict else ""
        text = f"{since.name}, {verdict}{since.sentence}"
        yield Fact("since", text, status="bad" if bad else "")
    head = "pattern"
    for one in headline.patterns:
        yield Fact(head, one.public if public else one.sentence)
        head = ""
