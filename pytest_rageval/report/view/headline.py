"""The headline of a run as blocks: what is new, and what the failing cases share."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.report.view.blocks import Fact
from pytest_rageval.values.headline import Headline


def headline_facts(
    headline: Headline, *, public: bool = False, named: bool = True, repeats: bool = True
) -> Iterator[Fact]:
    """Yield what is new since an earlier run, then the causes in common.

    Args:
        headline: of a run or a comparison.
        public: without text of the target.
        named: whether new failures are named.
        repeats: whether it is said that cases vary between repeats.
    """
    since = headline.since
    if since is not None:
        n_new = since.broke.n + since.erred.n
        verdict = f"{since.verdict}: " if since.verdict else ""
        said = since.sentence(names=named)
        yield Fact("since", f"{since.name}, {verdict}{said}", status="bad" if n_new else "")
    head = "pattern"
    for one in headline.patterns:
        if repeats or one.code != "repeats":
            yield Fact(head, one.public if public else one.sentence)
            head = ""
