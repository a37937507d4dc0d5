"""Whether a judge likes length or order: answers made longer or reordered, nothing added. Pure.

Neither change makes an answer better, so neither may raise its score (position and verbosity
bias: Zheng et al. 2023, arXiv 2306.05685).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.stats.intervals import fmean, wilson
from pytest_rageval.support.text import TOLERANCE

Probe = Literal["verbosity", "order"]
PROBES: Final[tuple[Probe, ...]] = ("verbosity", "order")

FILLER: Final = (
    "There is a great deal that could be said about this, and it deserves careful thought. "
    "All of the above should be considered as a whole and in detail."
)
"""States nothing about any subject."""

# A citation behind a full stop belongs to the sentence before it; neither an initial, a common
# abbreviation nor the number of a list item ends one.
_BOUNDARY: Final = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bvs\.)(?<!\be\.g\.)"
    r"(?<!\bi\.e\.)(?<!^\d\.)(?<!^\d\d\.)[\"')\]*]*(?:\s*\[\d[\d,; ]*\])*"
    r"(?P<gap>\s++)(?!\[\d[\d,; ]*\])"
    r"|(?<=[。！？])(?P<none>\s*)(?=\S)|(?P<line>\n\s*)",
    re.MULTILINE,
)

_ENDED: Final = re.compile(r"(?:^|[.!?。！？][\"')\]*]*(?:\s*\[\d[\d,; ]*\])*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSummary:
    """Number of answers that scored higher without being better."""

    n: int
    """Answers of which both versions were scored."""
    n_error: int
    """Answers of which a version has no verdict."""
    n_not_applicable: int
    """Answers of one sentence, which have no other order."""
    n_higher: int
    """Should be 0."""
    n_newly_passed: int
    """Of ``n_higher``, those that rose over the pass line."""
    higher_rate: float | None
    low: float | None
    """Wilson interval of the rate, with ``high``."""
    high: float | None
    mean_shift: float | None
    """Changed - original, in points of the scale; above 0 the judge rewards the change."""


def split_sentences(text: str) -> tuple[list[str], list[str]]:
    r"""Split a text at the ends of sentences and lines.

    Returns:
        The sentences, and the white space between each and the next; woven together again they
        are the text without the space around it.

    >>> split_sentences("It is 3.5 m. [1] Dr. Bo says so!\nGood.")
    (['It is 3.5 m. [1]', 'Dr. Bo says so!', 'Good.'], [' ', '\n'])
    """
    text = text.strip()
    sentences, gaps, start = [], [], 0
    for match in _BOUNDARY.finditer(text):
        gap = next(group for group in match.groupdict().values() if group is not None)
        end = match.end() - len(gap)
        sentences.append(text[start:end])
        gaps.append(gap)
        start = match.end()
    return [*sentences, text[start:]], gaps


def pad_answer(answer: str) -> str:
    """Make an answer longer without saying more: its first sentence again, and filler."""
    sentences, _ = split_sentences(answer)
    return f"{answer.rstrip()} {sentences[0]} {FILLER}"


def reorder_answer(answer: str, *, seed: int = 0) -> str | None:
    """Shuffle the sentences of an answer; the space between them stays where it is.

    Args:
        answer: as given.
        seed: of the order, which is never the given one.

    Returns:
        None: there is no other order, as all of its sentences are equal or there is only one.
    """
    sentences, gaps = split_sentences(answer)
    if not _ENDED.search(sentences[-1]):
        sentences[-1] += "."  # or it would run into the sentence that it comes to stand before
    if len(set(sentences)) < 2:
        return None
    draw = random.Random(seed)
    shuffled = list(sentences)
    while shuffled == sentences:
        draw.shuffle(shuffled)
    return "".join(part for pair in zip(shuffled, [*gaps, ""], strict=True) for part in pair)


def variant_of(probe: Probe, answer: str) -> str | None:
    """Return the changed answer of a probe; None: it cannot be changed so."""
    return pad_answer(answer) if probe == "verbosity" else reorder_answer(answer)


def summarise_probe(
    pairs: Iterable[tuple[float | None, float | None]], *, line: float, n_not_applicable: int = 0
) -> ProbeSummary:
    """Compare the scores of answers with those of their changed versions.

    Args:
        pairs: score of the original and of the changed one; None: no valid verdict.
        line: an answer is good from this score on.
        n_not_applicable: answers that could not be changed.
    """
    found = list(pairs)
    both = [(a, b) for a, b in found if a is not None and b is not None]
    higher = sum(b > a + TOLERANCE for a, b in both)
    interval = wilson(higher, len(both))
    return ProbeSummary(
        n=len(both),
        n_error=len(found) - len(both),
        n_not_applicable=n_not_applicable,
        n_higher=higher,
        n_newly_passed=sum(a < line - TOLERANCE <= b for a, b in both),
        higher_rate=higher / len(both) if both else None,
        low=interval.low,
        high=interval.high,
        mean_shift=fmean([b - a for a, b in both]),
    )
