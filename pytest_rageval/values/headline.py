"""The headline of a run or a comparison, which every face shows: facts, and their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from pytest_rageval.values.diagnoses.table import WORDS

PatternCode = Literal["unstable", "error", "chunks", "rank", "group", "stage", "repeats", "again"]

_SENTENCES: Final[Mapping[PatternCode, str]] = {
    "unstable": "unstable before this change, by the last {runs} runs of {main}: {cases}",
    "error": "{kind} in {n} of {of} cases",
    "chunks": "every reply held {n} of {k} chunks",
    "rank": "the evidence came back for {n} of {of}, at mean rank {rank}",
    "group": "{n} of {of} {where}",
    "stage": "all {n} {stage}",
    "repeats": "{n} of {of} cases vary between {repeats} repeats, {every} % pass all: {cases}",
    "again": "{n} of {of} cases that were asked again vary: {cases}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Pattern that the failing cases share."""

    code: PatternCode
    facts: Mapping[str, str | int | float] = field(default_factory=dict, hash=False)
    """Values that its sentence names. ``message`` quotes the target, ``where`` names a document, a
    folder, a category or a tag; ``base`` is the same figure of the earlier run ``name``."""

    @property
    def public(self) -> str:
        """Its sentence without text of the target."""
        text = _SENTENCES[self.code].format_map(self.facts)
        if "base" in self.facts:
            text += f", {self.facts['name']} {self.facts['base']}"
        return f"{text}: {self.facts['label']}" if self.facts.get("label") else text

    @property
    def sentence(self) -> str:
        """Its sentence, as it is shown on the machine of the run."""
        message = self.facts.get("message")
        return (
            f"{_SENTENCES[self.code].format_map(self.facts)}: {message}" if message else self.public
        )


_SHOWN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A number of cases, and the first of them by their shortest name."""

    n: int = 0
    names: tuple[str, ...] = ()
    """The worst first, at most 200."""

    def counted(self, words: str, *, names: bool = True) -> str:
        """Return number, words and names: ``2 newly failing: a, b``."""
        shown = self.names[:_SHOWN]
        text, more = f"{self.n} {words}", self.n - len(shown)
        if not shown or not names:
            return text
        return f"{text}: {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The changes since an earlier run, over the cases of both."""

    name: str
    """The earlier run as the user named it, or else its id."""
    run_id: str
    verdict: str = ""
    """The comparison without limits in a word or two, such as ``worse`` or ``no difference``."""
    n: int
    """Cases that are compared."""
    broke: Named = Named()
    """Passed then, and miss or are flawed now."""
    flaky: Named = Named()
    """Passed then, and pass some of their repeats now."""
    erred: Named = Named()
    """Answered then, and are errors now."""
    fixed: Named = Named()
    """Did not pass then, and do now."""
    worse: int = 0
    """Other cases that are worse: were flawed and miss now, or found more of their evidence."""
    better: int = 0
    """Other cases that are better."""
    time_ms: tuple[float, float] | None = None
    """Mean time of a call then and now; None: no proven change that matters."""
    cost_usd: tuple[float, float] | None = None
    """Mean cost of an answer then and now, as the target reports it; None: no such change."""

    @property
    def rates(self) -> tuple[str, ...]:
        """Changes of time and cost in words, such as ``calls 100 times slower (12 -> 1209 ms)``."""
        found = []
        if self.time_ms is not None:
            change = _times(self.time_ms, "slower", "faster")
            found.append(f"calls {change} ({self.time_ms[0]:.0f} -> {self.time_ms[1]:.0f} ms)")
        if self.cost_usd is not None:
            found.append(f"answers {_times(self.cost_usd, 'dearer', 'cheaper')}")
        return tuple(found)

    def sentence(self, *, names: bool = True) -> str:
        """Say the changes, with the names of the cases unless those of failures are known."""
        parts = [self.broke.counted("newly failing", names=names)]
        if self.flaky.n:
            parts.append(self.flaky.counted("newly flaky", names=names))
        if self.erred.n:
            parts.append(self.erred.counted("newly erroring", names=names))
        parts.append(self.fixed.counted("fixed"))
        return "; ".join((*parts, *self._others, *self.rates))

    @property
    def changed(self) -> bool:
        """Whether any case is worse or better."""
        return bool(
            self.broke.n
            or self.flaky.n
            or self.erred.n
            or self.fixed.n
            or self.worse
            or self.better
        )

    @property
    def counts(self) -> str:
        """The changes without names: ``14 broke, 2 fixed, of 60``."""
        flaky = [f"{self.flaky.n} flaky now"] if self.flaky.n else []
        erred = [f"{self.erred.n} error now"] if self.erred.n else []
        counts = ", ".join(
            (f"{self.broke.n} broke", f"{self.fixed.n} fixed", *flaky, *erred, *self._others)
        )
        return f"{counts}, of {self.n}"

    @property
    def _others(self) -> list[str]:
        counts = {"worse": self.worse, "better": self.better}
        return [WORDS.format("{:other} {}", n, word) for word, n in counts.items() if n]


def _times(values: tuple[float, float], more: str, less: str) -> str:
    base, new = values
    if not base or not new:
        return more if new else less
    ratio = max(new / base, base / new)
    return f"{ratio:.{0 if ratio >= 10 else 1}f} times {more if new > base else less}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """First facts of a run: what is new, the cause in common, and the case to look at."""

    since: Since | None = None
    """None: there is no earlier run to compare with."""
    patterns: tuple[Pattern, ...] = ()
    """Patterns of the newly failing cases, or else of all that fail; the most telling first."""
    worst: str | None = None
    """Name of the worst of those that broke, or else of those cases; None: none fails."""
    n_failing: int = 0
    """Those cases."""

    @property
    def without_names(self) -> Headline:
        """The same without patterns that name a document, a section or a folder."""
        named = {"document", "section", "folder"}
        kept = (one for one in self.patterns if one.facts.get("kind") not in named)
        return replace(self, patterns=tuple(kept))
