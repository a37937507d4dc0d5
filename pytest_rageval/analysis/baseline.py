"""The choice of a baseline among stored runs, from facts that git tells. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from pytest_rageval.support.text import first_few
from pytest_rageval.values.baseline import (
    Approval,
    BaselineChoice,
    ChoiceCode,
    ChoiceFact,
    ChoiceRemark,
    Refusal,
)
from pytest_rageval.values.run import StoredRun

_DAY: Final = 86_400.0
_SHORT: Final = 7
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineCandidate:
    """Facts of a stored run that the choice needs."""

    run_id: str
    at: float
    """Its start, in seconds since 1970."""
    commit: str | None = None
    dirty: bool = False
    """Whether tracked files had changes that the commit does not have."""
    verdict: str | None = None
    """Of its gate."""
    partial: bool = False
    """Whether it asked only some cases of its files."""
    whole: bool = True
    """Whether its files are all that the project had."""
    has_records: bool = True
    files: frozenset[str] = frozenset()
    """Its case files; empty: not stored, which fits any."""
    tier: str | None = None
    config_hash: str | None = None
    dataset_hash: str | None = None
    unlike: tuple[str, ...] | None = None
    """Facts in which it differs from the approved run of its id or start; None: another run."""

    @property
    def approved(self) -> bool:
        """Whether it is the approved run."""
        return self.unlike == ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Facts from git about the tested commit and the main branch."""

    problem: Literal[
        "", "no_repository", "no_commit", "unknown_commit", "no_main", "shallow", "unrelated"
    ] = ""
    """Reason why there is no merge base."""
    main: str = ""
    """Name of the main branch, or the names that were tried without success."""
    head: str | None = None
    commits: Sequence[str] = ()
    """First parents from the merge base back, itself first."""
    shallow: bool = False
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceSettings:
    """Circumstances of a choice."""

    now: float
    """Seconds since 1970."""
    where: str
    """The folder or archive of the runs, as shown."""
    max_days: int
    max_commits: int


def choose_baseline(
    new: BaselineCandidate,
    runs: Sequence[BaselineCandidate],
    history: History,
    approval: Approval | None,
    approved_at: float,
    given: ChoiceSettings,
) -> BaselineChoice:
    """Choose the run that a new one is compared with.

    That is the newest usable run of the merge base, else of the main branch before it, unless a
    run was approved later than that one was made.

    Args:
        new: the run that is tested.
        runs: all others.
        history: as git knows it.
        approval: of a run; None if absent.
        approved_at: time of the approval, in seconds since 1970.
        given: time, place and limits of age.
    """
    place = {commit: n for n, commit in enumerate(history.commits)}
    # A clean commit of the main branch is its own merge base: it is compared with earlier ones.
    itself = bool(history.commits) and history.head == history.commits[0] and not history.dirty
    on_main = [run for run in runs if run.commit in place and place[run.commit] >= itself]
    on_main.sort(
        key=lambda run: (
            place.get(run.commit or "", 0),
            run.tier != new.tier,
            run.config_hash != new.config_hash,
            run.dataset_hash != new.dataset_hash,
            -run.at,
        )
    )
    found = next((run for run in on_main if refusal(run, new) is None), None)
    approved = next((run for run in runs if run.approved), None)
    almost = next((run for run in runs if run.unlike), None)
    remarks = []
    if history.dirty:
        remarks.append(ChoiceRemark(code="dirty_tree"))
    if history.shallow and found is None and not history.problem:
        remarks.append(ChoiceRemark(code="shallow_history", facts={"main": history.main}))
    facts: dict[str, ChoiceFact] = {"main": history.main, "where": given.where}
    code: ChoiceCode
    # An approved run of another tier or of other files says nothing about this one.
    foreign = approved is not None and (
        approved.tier != new.tier or refusal(approved, new) in {"partial", "other_files"}
    )
    if approval is not None and (found is None or (approved_at > found.at and not foreign)):
        facts |= {"by": approval.by, "because": approval.because, "run": approval.run}
        why = None if approved is None else refusal(approved, new)
        if approved is None and almost is not None:
            facts |= {"run": almost.run_id, "differing": " and ".join(almost.unlike or ())}
            return BaselineChoice(code="approved_other", facts=facts, remarks=tuple(remarks))
        if approved is None:
            return BaselineChoice(code="approved_missing", facts=facts, remarks=tuple(remarks))
        if why is not None:
            return _refused(approved, why, facts, remarks)
        code, found = "approved", approved
    elif found is None:
        return _none(new, on_main, history, facts, remarks, itself=itself)
    else:
        code = "merge_base" if place[found.commit or ""] == 0 else "main"
        facts["commit"] = (found.commit or "")[:_SHORT]
    first = on_main[0] if on_main and place[on_main[0].commit or ""] == 0 else None
    days = max(int((given.now - found.at) / _DAY), 0)
    commits = place.get(found.commit or "")
    return BaselineChoice(
        code=code,
        facts=facts,
        run_id=found.run_id,
        days=days,
        commits=commits,
        passed_over=refusal(first, new) if code == "main" and first is not None else None,
        remarks=tuple([*remarks, *_old(days, commits, history, given)]),
    )


def refusal(run: BaselineCandidate, new: BaselineCandidate) -> Refusal | None:
    """Return why a run cannot be the baseline of another; None: it can."""
    if not run.has_records:
        return "no_records"
    if run.files and new.files and run.files.isdisjoint(new.files):
        return "other_files"
    if run.partial or run.tier not in {None, new.tier}:
        return "partial"
    if not run.whole and not new.files <= run.files:
        return "partial"
    if run.approved:
        return None
    if run.verdict != "pass":
        return "failed" if run.verdict == "fail" else "undecided"
    return "dirty" if run.dirty else None


def approval_remarks(run: StoredRun) -> list[ChoiceRemark]:
    """Return warnings about a run that a person approves."""
    git = run.config.git
    if git.commit is None:
        return [ChoiceRemark(code="no_commit")]
    return [ChoiceRemark(code="dirty_run", facts={"commit": git.commit[:_SHORT]})] * bool(git.dirty)


def _none(
    new: BaselineCandidate,
    on_main: Sequence[BaselineCandidate],
    history: History,
    facts: dict[str, ChoiceFact],
    remarks: Sequence[ChoiceRemark],
    *,
    itself: bool,
) -> BaselineChoice:
    """Say why there is no baseline."""
    if history.problem:
        facts |= {"tried": f"({history.main})", "head": history.head or ""}
        return BaselineChoice(code=history.problem, facts=facts, remarks=tuple(remarks))
    # A run over other files says least about this one.
    refused = [(run, why) for run in on_main if (why := refusal(run, new)) is not None]
    refused.sort(key=lambda one: one[1] == "other_files")
    if refused:
        return _refused(*refused[0], facts, remarks)
    usable = refusal(replace(new, verdict="pass"), new) is None
    code: ChoiceCode = "first" if itself and usable else "no_runs"
    return BaselineChoice(code=code, facts=facts, remarks=tuple(remarks))


def _refused(
    run: BaselineCandidate,
    why: Refusal,
    facts: Mapping[str, ChoiceFact],
    remarks: Sequence[ChoiceRemark],
) -> BaselineChoice:
    files = first_few(sorted(run.files), _SHOWN)
    named = {**facts, "run": run.run_id, "why": why, "files": files}
    return BaselineChoice(code="refused", facts=named, remarks=tuple(remarks))


def _old(
    days: int, commits: int | None, history: History, given: ChoiceSettings
) -> list[ChoiceRemark]:
    if days <= given.max_days and (commits or 0) <= given.max_commits:
        return []
    facts: dict[str, ChoiceFact] = {
        "days": given.max_days,
        "commits": given.max_commits,
        "main": history.main or "main",
    }
    return [ChoiceRemark(code="old", facts=facts)]
