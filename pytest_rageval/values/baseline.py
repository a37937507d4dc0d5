"""A baseline that was found and not named: the choice with its reason, and a run's approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pytest_rageval.values.diagnoses.table import WORDS
from pytest_rageval.values.record import SCHEMA_VERSION

ChoiceCode = Literal[
    "merge_base", "main", "approved", "last", "first", "no_runs", "refused", "approved_missing",
    "approved_other", "no_repository", "no_commit", "unknown_commit", "no_main", "shallow",
    "unrelated",
]  # fmt: skip
"""Reason of a choice; the first four name a run."""
Refusal = Literal["failed", "undecided", "dirty", "partial", "other_files", "no_records"]
"""Reason why a run cannot be a baseline."""
RemarkCode = Literal["old", "dirty_tree", "shallow_history", "dirty_run", "no_commit"]
ChoiceFact = str | int

_APPROVE: Final = '; `rageval runs approve {run} --because "..."` makes it the baseline'
_SENTENCES: Final[Mapping[ChoiceCode, str]] = {
    "merge_base": "run of the merge base {commit} with {main}",
    "main": "newest run of {main} that passed, at {commit}",
    "approved": "run approved by {by}: {because}",
    "last": "last run that can be compared; passed over: {runs}",
    "first": "no earlier run of {main} in {where}; this one is the next baseline if it passes",
    "no_runs": "no run of {main} in {where}; the next run of {main} that passes is one",
    "refused": "run {run} of {main} {refusal}",
    "approved_missing": "run {run}, which {by} approved, is not in {where}; bring its folder "
    "there, or approve another",
    "approved_other": "run {run} in {where} has another {differing} than the run that {by} "
    "approved; bring that one there, or approve this one",
    "no_repository": "there is no git repository to find one in; name a run",
    "no_commit": "the run was made of no commit; commit the project, then run again",
    "unknown_commit": "commit {head}, of which the run was made, is not in this repository; fetch "
    "it with `git fetch origin {head}`",
    "no_main": "git knows no main branch {tried}; fetch it, or set main_branch in [tool.rageval]",
    "shallow": "the clone is shallow and lacks the merge base with {main}; deepen it with `git "
    "fetch --unshallow` (actions/checkout: fetch-depth: 0, GitLab: GIT_DEPTH: 0)",
    "unrelated": "this commit and {main} have no commit in common",
}
_REFUSALS: Final[Mapping[Refusal, str]] = {
    "failed": "failed" + _APPROVE,
    "undecided": "was not decided" + _APPROVE,
    "dirty": "was made with uncommitted changes" + _APPROVE,
    "partial": "is over a part of its set; run all of it there",
    "other_files": "is over other case files ({files})",
    "no_records": "has its numbers alone, without results.jsonl",
}
_PASSED_OVER: Final[Mapping[Refusal | None, str]] = {
    None: "; the merge base has no run",
    "failed": "; that of the merge base failed",
    "undecided": "; that of the merge base was not decided",
    "dirty": "; that of the merge base had uncommitted changes",
    "partial": "; that of the merge base is over a part of its set",
    "other_files": "; that of the merge base is over other case files",
    "no_records": "; of that of the merge base the records are not here",
}
_REMARKS: Final[Mapping[RemarkCode, str]] = {
    "old": "the baseline is over {days} days or {commits} commits old: run the cases on {main}",
    "dirty_tree": "the run was made with uncommitted changes, which are compared, too",
    "dirty_run": "the run was made with uncommitted changes on commit {commit}: nobody can make it "
    "again; commit them, run the cases, and approve that run",
    "no_commit": "the run has no commit: nobody can tell what it was made of",
    "shallow_history": "the clone is shallow: older runs of {main} cannot be found; deepen it with "
    "`git fetch --unshallow`",
}


class _Facts(dict[str, ChoiceFact]):
    """Facts of a sentence; a damaged file may lack one."""

    def __missing__(self, name: str) -> str:
        return "?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRemark:
    """Warning about a baseline that was found."""

    code: RemarkCode
    """Row of the table of warnings."""
    facts: Mapping[str, ChoiceFact] = field(default_factory=dict, hash=False)
    """Values that its sentence names."""

    @property
    def sentence(self) -> str:
        """One plain-ASCII sentence."""
        return _REMARKS[self.code].format_map(_Facts(self.facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineChoice:
    """Baseline that was found, or the reason why it is absent."""

    code: ChoiceCode
    """Rule that chose it, or found none."""
    facts: Mapping[str, ChoiceFact] = field(default_factory=dict, hash=False)
    """Values that its sentence names."""
    run_id: str | None = None
    """None if absent."""
    days: int | None = None
    """Whole days since it was made; None: it has no time."""
    commits: int | None = None
    """Commits of the main branch since; None: unknown."""
    passed_over: Refusal | None = None
    """Reason why the run of the merge base was not taken; None if absent, or it was taken."""
    remarks: tuple[ChoiceRemark, ...] = ()
    """Warnings about it."""

    @property
    def sentence(self) -> str:
        """The choice in one sentence, with the age of the run."""
        facts = _Facts(self.facts)
        for refusal, text in _REFUSALS.items():
            if facts.get("why") == refusal:
                facts["refusal"] = text.format_map(facts)
        text = _SENTENCES[self.code].format_map(facts)
        if self.run_id is not None and (age := age_text(self.days, self.commits)):
            text += f", {age} old"
        return text + (_PASSED_OVER[self.passed_over] if self.code == "main" else "")

    @property
    def problem(self) -> str | None:
        """Sentence on a baseline that is absent; None: there is one."""
        if self.run_id is not None:
            return None
        return f"{self.sentence}; nothing was decided against one"


def age_text(days: int | None, commits: int | None) -> str:
    """Return an age such as ``3 days and 1 commit``; empty: it is not known."""
    known = {"day": days, "commit": commits}
    return " and ".join(
        WORDS.format(f"{{:{word}}}", n) for word, n in known.items() if n is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedMean:
    """Mean of a metric in an approved run."""

    mean: float
    """In the unit of the metric."""
    n: int
    """Cases that it is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The content of ``baseline.json``: a run that a person made the baseline."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    run: str
    """Its id."""
    made: str | None = None
    """Its start: ISO 8601 with an offset."""
    commit: str | None = None
    """Checked out when it was made."""
    config_hash: str | None = None
    """As in its ``config.json``."""
    dataset_hash: str | None = None
    """As in its ``config.json``."""
    verdict: str | None = None
    """Of its gate."""
    means: Mapping[str, ApprovedMean] = field(default_factory=dict)
    """Of every metric that has one, by key."""
    by: str
    """Name of the person, as git knows it."""
    at: str
    """Time of the approval: ISO 8601 with an offset."""
    because: str
    """Reason, in the person's words."""
