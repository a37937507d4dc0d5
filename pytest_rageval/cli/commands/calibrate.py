"""``rageval calibrate``: agreement of a judge with people."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import convert, to_builtins

from pytest_rageval.cli.output import (
    PATH,
    CommandError,
    ExitCode,
    ProgressOnStderr,
    face_option,
    print_result,
    switch,
)
from pytest_rageval.cli.target import judge_options, judge_settings, warn_of_cache
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import JudgeError
from pytest_rageval.values.verdict import StoredCalibration, usage_of

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.calibration import JudgedAnswer, LabelledAnswer
    from pytest_rageval.metrics.registry import MetricInfo
    from pytest_rageval.support.in_flight import Slots
    from pytest_rageval.values.settings import Settings
    from pytest_rageval.values.verdict import Judge, JudgeFailure, Judgement, JudgeRequest

_RUBRICS: Final = ("groundedness", "correctness", "abstention")
_FIRST_TRIES: Final = 2
_UNREACHABLE: Final = frozenset({"unreachable", "rate_limited"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Options of the command line."""

    rubric: str
    """A rubric of the package, or the key of a metric of a user's rubric."""
    threshold: float | None
    probes: bool
    probe_sample: int | None
    save: bool
    strict: bool
    own: MetricInfo | None = None
    """Definition of that metric; None: it is a rubric of the package."""

    @property
    def asked(self) -> str:
        """The rubric that the judge is asked."""
        return self.rubric if self.own is None else self.own.source


class _RubricName(click.Choice[str]):
    """A rubric of the package, or any name, which may be an own metric."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


@click.command("calibrate")
@click.argument("labels", type=PATH)
@click.option(
    "--rubric",
    type=_RubricName(_RUBRICS),
    required=True,
    help="Rubric to judge by, or a metric of your own rubric such as tone.politeness.",
)
@click.option(
    "--threshold",
    type=float,
    help="Worst score of a good answer.  [default: the pass line, 4 of 5]",
)
@switch("--probes", help="Also judge every answer padded, and with sentences reordered.")
@click.option(
    "--probe-sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Probe only N answers, chosen by a fixed seed.",
)
@switch("--strict", help="Refuse a judge too strict with one source and too lenient with another.")
@switch("--save", help="Keep the figures beside the cases; runs read there if it is admitted.")
@judge_options
@face_option
def command(labels: Path, face: str | None, **flags: Any) -> int:
    """Measure how far a judge agrees with people, and whether it may decide.

    A judge is admitted if the lower bounds of both its rates, of bad answers found and of good ones
    passed, reach admit_at (0.80) on two thirds of the labels, the part test; the part dev is for
    choosing a threshold or a prompt. Each line of LABELS is {"id", "question", "answer", "label"},
    with "context", "reference", "history", "source" and "language" if known. Labels: grounded,
    not_grounded; correct, incorrect; answer, abstain (partial and clarify are left out); good, bad
    for a metric of your own rubric. The judge is the project's unless --judge is given. With
    --save, limits of a run know the judge, and later calls report its drift. The exit code is 1 if
    it gave no score at all, 4 if it could not be reached.
    """
    from pytest_rageval.report.view.judging import calibration_lines

    given = {f.name: flags.pop(f.name) for f in fields(_Wanted) if f.name in flags}
    settings = judge_settings(flags)
    wanted = _Wanted(**given, own=_own_metric(given["rubric"], settings))
    if wanted.probe_sample is not None:
        wanted = replace(wanted, probes=True)
    _check(wanted)
    document, saved = _calibrate(labels, wanted, settings)
    print_result(document, calibration_lines(document), face=face)
    if saved is not None and face is None:
        click.echo(f"saved {clean(str(saved))}")
    return ExitCode.YES if document["n"] else ExitCode.NO


def _own_metric(name: str, settings: Settings) -> MetricInfo | None:
    """Return the definition of an own metric; None: the name is that of a rubric."""
    if name in _RUBRICS:
        return None
    from pytest_rageval.engine.own_code import open_registry

    own = {key: one for key, one in open_registry(settings).own.items() if one.judged}
    if name not in own:
        there = ", ".join((*_RUBRICS, *own))
        raise click.UsageError(f"--rubric: no rubric in use gives {name!r}; there are: {there}")
    return own[name]


def _check(wanted: _Wanted) -> None:
    from pytest_rageval.analysis.trust.calibration import is_lower, scale_of

    low, high = scale_of(wanted.rubric, wanted.own)
    line = wanted.threshold
    if line is not None and wanted.rubric != "abstention" and not low <= line <= high:
        problem = f"{line} is not in the range {low:g}<=x<={high:g}."
        raise click.BadParameter(problem, param_hint="'--threshold'")
    if wanted.own is not None and wanted.own.direction == "neutral":
        raise click.UsageError(f"--rubric: {wanted.rubric} has no direction, so none is good")
    if wanted.probes and is_lower(wanted.own):
        raise click.UsageError("--probes: expected a metric of which higher is better")
    for flag, there in (("--threshold", wanted.threshold is not None), ("--probes", wanted.probes)):
        if there and wanted.rubric == "abstention":
            raise click.UsageError(f"{flag}: the abstention rubric says yes or no, no score")


def _calibrate(
    labels: Path, wanted: _Wanted, settings: Settings
) -> tuple[dict[str, Any], Path | None]:
    from pytest_rageval.analysis.trust.calibration import (
        LEFT_OUT,
        calibrate,
        calibration_document,
        request_of,
    )
    from pytest_rageval.engine.preparing import load_labels
    from pytest_rageval.judges.opening import judging_slots, open_judge

    rows = load_labels(labels, wanted.rubric)
    judged = [row for row in rows if row.label not in LEFT_OUT.get(wanted.rubric, ())]
    if not judged:
        raise CommandError.of(labels, "no_labels")
    # The spot check and the rubrics of a run do not apply here.
    judging = replace(settings.judging, rubrics=(wanted.asked,), spot_check=0)
    settings = replace(settings, judging=judging)
    slots = judging_slots(settings)
    with open_judge(settings, environ=os.environ, slots=slots) as judge:
        assert judge is not None  # judge_settings refuses "none"
        asker = _Asker(judge, slots, wanted, settings.max_errors)
        ids = [row.id for row in judged]
        readings = dict(zip(ids, asker.ask([request_of(row) for row in judged]), strict=True))
        probes = _probe(asker, judged, readings) if wanted.probes else None
        identity = judge.identity
        warn_of_cache(judge)
    if failed := next((one.failure for one in asker.judgements if one.failure), None):
        # On stderr, since neither the figures nor their file hold any text.
        click.echo(f"rageval: first failure: {failed.kind}: {clean(failed.message)}", err=True)
    found = calibrate(
        rows, readings, rubric=wanted.rubric, own=wanted.own, threshold=wanted.threshold
    )
    document = {
        "judge": identity,
        "model": next((one.model for one in reversed(asker.judgements) if one.model), None),
        "rubric_version": next((v for j in asker.judgements if (v := j.rubric_version)), ""),
        **calibration_document(found),
        "strict": wanted.strict,
        "direction": "higher" if wanted.own is None else wanted.own.direction,
        "probes": probes,
        "usage": to_builtins(usage_of(asker.judgements)),
    }
    stored = convert({"schema_version": 1, **document}, StoredCalibration)
    bar = document["admit_at"] = settings.judging.admit_at
    document["admitted"] = {language: stored.admits(language, bar) for language in stored.test}
    return _with_history(document, judged, readings, settings, wanted)


# --- asking --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asker:
    """Asks the judge about several answers at once, until it cannot be reached."""

    judge: Judge
    slots: Slots
    wanted: _Wanted
    max_errors: int
    """Failures to reach it in a row before giving up; fewer do as long as it never replied."""
    judgements: list[Judgement] = field(default_factory=list)
    _in_a_row: int = 0

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgedAnswer]:
        from pytest_rageval.analysis.trust.calibration import read_judgement
        from pytest_rageval.judges.asking import ask_rubric
        from pytest_rageval.support.in_flight import in_order

        wanted = self.wanted
        ask = partial(ask_rubric, self.judge, wanted.asked, slots=self.slots)
        found: list[JudgedAnswer] = []
        with (
            closing(in_order((partial(ask, one) for one in requests), self.slots)) as judgements,
            ProgressOnStderr(lambda: f"judged {len(found)} of {len(requests)}"),
        ):
            for judgement in judgements:
                self._watch(judgement.failure, len(requests))
                self.judgements.append(judgement)
                found.append(read_judgement(wanted.rubric, judgement, wanted.own))
        return found

    def _watch(self, failure: JudgeFailure | None, n: int) -> None:
        if failure is None or failure.kind not in _UNREACHABLE:
            self._in_a_row = 0
            return
        self._in_a_row += 1
        # Each of these failures has cost all of its retries already.
        never_replied = self._in_a_row > len(self.judgements)
        tries = min(_FIRST_TRIES, n) if never_replied else self.max_errors
        if self._in_a_row >= min(self.max_errors, tries):
            raise JudgeError("judge_gone", n=self._in_a_row, reason=clean(failure.message, 300))


def _probe(
    asker: _Asker, rows: Sequence[LabelledAnswer], readings: Mapping[str, JudgedAnswer]
) -> dict[str, Any]:
    from pytest_rageval.analysis.trust.calibration import pass_line, request_of
    from pytest_rageval.analysis.trust.probes import PROBES, summarise_probe, variant_of
    from pytest_rageval.judges.spot_check import choose_spot_check

    scored = {row.id: row for row in rows if readings[row.id].score is not None}
    wanted, given = asker.wanted, asker.wanted.threshold
    chosen = choose_spot_check(scored, wanted.probe_sample or len(scored))
    line = pass_line(wanted.rubric, wanted.own) if given is None else given
    assert line is not None
    found: dict[str, Any] = {}
    for probe in PROBES:
        changed = {row_id: variant_of(probe, scored[row_id].answer) for row_id in chosen}
        asked = {row_id: answer for row_id, answer in changed.items() if answer is not None}
        again = asker.ask([request_of(scored[i], answer=answer) for i, answer in asked.items()])
        pairs = [(readings[i].score, one.score) for i, one in zip(asked, again, strict=True)]
        summary = summarise_probe(pairs, line=line, n_not_applicable=len(chosen) - len(pairs))
        found[probe] = asdict(summary)
    return found


# --- saved figures --------------------------------------------------------------------------------


def _with_history(
    document: dict[str, Any],
    rows: Sequence[LabelledAnswer],
    readings: Mapping[str, JudgedAnswer],
    settings: Settings,
    wanted: _Wanted,
) -> tuple[dict[str, Any], Path | None]:
    """Add the comparison with the saved calibration, and save this one if requested."""
    from pytest_rageval.analysis.trust.calibration import answer_hash, scale_of
    from pytest_rageval.analysis.trust.reliability import measure_drift
    from pytest_rageval.judges.calibrations import (
        calibration_folder,
        calibration_path,
        read_calibration,
        write_calibration,
    )

    path = calibration_path(calibration_folder(settings), document["judge"], wanted.rubric)
    scores = {answer_hash(row): readings[row.id].score for row in rows}
    stored = read_calibration(path)
    document["drift"] = None
    if stored and stored.scores:
        drift = measure_drift(stored.scores, scores, scale=scale_of(wanted.rubric, wanted.own))
        document["drift"] = {
            "n": drift.n,
            "n_lost": drift.n_lost,
            "enough": drift.enough,
            **asdict(drift.found),
            "rubric_version_before": stored.rubric_version,
            "text": str(drift),
        }
    if not wanted.save:
        return document, None
    kept = {key: score for key, score in scores.items() if score is not None}
    write_calibration(path, {**document, "scores": kept})
    return document, path
