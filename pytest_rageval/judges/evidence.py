"""Key facts and claims of a case looked up in its passages, whatever judge the run has."""

from __future__ import annotations

from pytest_rageval.judges.asking import Judged
from pytest_rageval.metrics.view import CaseView, Verdicts
from pytest_rageval.values.record import Evidence


def with_evidence(view: CaseView, judged: Judged | None) -> Verdicts | None:
    """Return the verdicts on a case with what its passages hold of its facts and claims.

    Args:
        view: the case with its response.
        judged: result of judging, whose verdicts get the evidence; None: there is no judge, so only
            facts are looked up.

    Returns:
        None if there is neither a verdict nor anything to look up.
    """
    evidence = _find(view, judged)
    verdicts = None if judged is None else judged.verdicts
    if evidence is not None:
        verdicts = verdicts or Verdicts()
        verdicts.evidence = evidence
    return verdicts


def _find(view: CaseView, judged: Judged | None) -> Evidence | None:
    case, response = view.case, view.response
    if response is None or view.chunks is None or not case.answerable:
        return None
    wanted = case.stated_facts
    if (judged is None and not wanted) or not view.texts_whole:
        return None
    # Imported here, since a run that measures neither needs no word list.
    from pytest_rageval.judges.offline.judge import check_claims, find_facts

    facts = key_facts = claims = None
    if wanted:
        facts = find_facts(case.question, wanted, view.cut)
        key_facts = _facts_stated(judged, len(wanted))
    if judged is not None and not view.failed and not judged.verdicts.abstained:
        claims = check_claims(
            case.question, response.answer, view.chunks, view.k, view.settings.path_case
        )
    if facts is None and claims is None:
        return None
    return Evidence(facts=facts, facts_stated=key_facts, claims=claims)


def _facts_stated(judged: Judged | None, n_facts: int) -> tuple[bool, ...] | None:
    """Return which key facts the judge found in the answer, if it judged as many as there are."""
    if judged is None:
        return None
    if judged.verdicts.abstained:
        return (False,) * n_facts
    for judgement in judged.judgements:
        if judgement.rubric == "correctness" and judgement.verdict is not None:
            found = judgement.verdict.key_facts_found
            return found if found is not None and len(found) == n_facts else None
    return None
