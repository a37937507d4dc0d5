"""``rageval calibrate``: agreement of a judge with people."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.judge_options import judge_options, judge_settings, warn_of_cache
from pytest_rageval.cli.output import (
    CommandError,
    ExitCode,
    UnreachableError,
    json_option,
    print_result,
)
from pytest_rageval.support.text import clean
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.json_documents import number, part

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.calibration import LabelledAnswer, Reading
    from pytest_rageval.metrics.registry import MetricInfo
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
    own: MetricInfo | None = None
    """Definition of that metric; None: it is a rubric of the package."""

    @property
    def asked(self) -> str:
        """The rubric that the judge is asked."""
        return self.rubric if self.own is None else self.own.source


class _RubricName(click.Choice[str]):
    """A rubric of the package, or any name with a dot, which may be an own metric."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if "." in str(value) else super().convert(value, param, ctx)


@click.command("calibrate")
@click.argument("labels", type=click.Path(path_type=Path))
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
@click.option(
    "--probes", is_flag=True, help="Also judge every answer padded, and with sentences reordered."
)
@click.option(
    "--probe-sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Probe only N answers, chosen by a fixed seed.",
)
@click.option("--save", is_flag=True, help="Keep the figures and scores beside the cases.")
@judge_options
@json_option
def command(labels: Path, as_json: bool, **flags: Any) -> int:
    """Measure a judge's agreement with human LABELS.

    Each line of LABELS is {"id", "question", "answer", "label"}, with "context", "reference",
    "history" and "source" if known. Labels: grounded, not_grounded; correct, incorrect; answer,
    abstain (partial and clarify are left out); good, bad for a metric of your own rubric. The judge
    is the project's unless --judge is given. With --save, later calls also report drift of the
    judge. The exit code is 1 if it gave no score at all, 4 if it could not be reached.
    """
    from pytest_rageval.report.text.agreement import calibration_lines

    given = {f.name: flags.pop(f.name) for f in fields(_Wanted) if f.name in flags}
    settings = judge_settings(flags)
    wanted = _Wanted(**given, own=_own_metric(given["rubric"], settings))
    if wanted.probe_sample is not None:
        wanted = replace(wanted, probes=True)
    _check(wanted)
    document, saved = _calibrate(labels, wanted, settings)
    code = ExitCode.YES if document["n"] else ExitCode.NO
    print_result(document, calibration_lines(document), as_json=as_json)
    if saved is not None and not as_json:
        click.echo(f"saved {clean(str(saved))}")
    return code


def _own_metric(name: str, settings: Settings) -> MetricInfo | None:
    """Return the definition of an own metric; None: the name is that of a rubric."""
    if name in _RUBRICS:
        return None
    from pytest_rageval.engine.registry import open_registry

    own = {key: one for key, one in open_registry(settings).own.items() if one.judged}
    if name not in own:
        there = f"there are: {', '.join(own)}" if own else "the project has none"
        raise click.UsageError(f"--rubric: no rubric in use gives {name!r}; {there}")
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
    given = {"--threshold": wanted.threshold is not None, "--probes": wanted.probes}
    for flag, there in given.items():
        if there and wanted.rubric == "abstention":
            raise click.UsageError(f"{flag}: the abstention rubric says yes or no, no score")


def _calibrate(
    labels: Path, wanted: _Wanted, settings: Settings
) -> tuple[dict[str, Any], Path | None]:
    from pytest_rageval.analysis.trust.calibration import (
        LEFT_OUT,
        calibrate,
        calibration_document,
    )
    from pytest_rageval.engine.labels import load_labels
    from pytest_rageval.judges.asking import judge_cost
    from pytest_rageval.judges.opening import open_judge

    rows = load_labels(labels, wanted.rubric)
    judged = [row for row in rows if row.label not in LEFT_OUT.get(wanted.rubric, ())]
    if not judged:
        raise CommandError(f"{labels}: every row carries a label that is left out")
    # The spot check and the rubrics of a run do not apply here.
    judging = replace(settings.judging, rubrics=(wanted.asked,), spot_check=0)
    with open_judge(replace(settings, judging=judging), environ=os.environ) as judge:
        if judge is None:
            raise CommandError(f"--judge {settings.judge}: there is no such judge")
        asker = _Asker(judge, wanted, settings.max_errors)
        readings = _read(asker, judged)
        probes = _probe(asker, judged, readings, wanted) if wanted.probes else None
        identity = judge.identity
        warn_of_cache(judge)
    found = calibrate(
        rows, readings, rubric=wanted.rubric, own=wanted.own, threshold=wanted.threshold
    )
    document = {
        "judge": identity,
        "model": asker.model,
        "rubric_version": asker.version,
        **calibration_document(found),
        "direction": "higher" if wanted.own is None else wanted.own.direction,
        "probes": probes,
        "cost": judge_cost(asker.judgements),
    }
    return _with_history(document, judged, readings, settings, wanted)


# --- asking --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Asker:
    """Asks the judge, one answer after the other, until it cannot be reached."""

    judge: Judge
    wanted: _Wanted
    max_errors: int
    """Failures to reach it in a row before giving up; fewer do as long as it never replied."""
    version: str | None = None
    model: str | None = None
    judgements: list[Judgement] = field(default_factory=list)
    _in_a_row: int = 0
    _replied: bool = False

    def ask(self, request: JudgeRequest) -> Reading:
        from pytest_rageval.analysis.trust.calibration import read_judgement

        judgement = self.judge.judge(self.wanted.asked, request)
        failure = judgement.failure
        self._in_a_row = self._in_a_row + 1 if _is_unreachable(failure) else 0
        self._replied = self._replied or not self._in_a_row
        # Each of these failures has cost all of its retries already.
        patience = self.max_errors if self._replied else min(self.max_errors, _FIRST_TRIES)
        if failure is not None and self._in_a_row >= patience:
            raise UnreachableError(
                f"judge {self.judge.identity}: given up after {self._in_a_row} failures in a row: "
                f"{failure.kind}: {failure.message}"
            )
        self.version = judgement.rubric_version
        self.model = judgement.model or self.model
        self.judgements.append(judgement)
        return read_judgement(self.wanted.rubric, judgement, self.wanted.own)


def _is_unreachable(failure: JudgeFailure | None) -> bool:
    return failure is not None and failure.kind in _UNREACHABLE


def _read(asker: _Asker, rows: Sequence[LabelledAnswer]) -> dict[str, Reading]:
    from pytest_rageval.analysis.trust.calibration import request_of

    readings = {row.id: asker.ask(request_of(row)) for row in rows}
    failures = [judgement.failure for judgement in asker.judgements]
    if all(_is_unreachable(failure) for failure in failures) and failures[0] is not None:
        raise UnreachableError(
            f"judge {asker.judge.identity}: no verdict on {len(rows)} of {len(rows)} answers: "
            f"{failures[0].kind}: {failures[0].message}"
        )
    return readings


def _probe(
    asker: _Asker,
    rows: Sequence[LabelledAnswer],
    readings: Mapping[str, Reading],
    wanted: _Wanted,
) -> dict[str, Any]:
    from pytest_rageval.analysis.trust.calibration import pass_line, request_of
    from pytest_rageval.analysis.trust.probes import PROBES, summarise_probe, variant_of
    from pytest_rageval.judges.spot_check import choose_spot_check

    scored = {row.id: row for row in rows if readings[row.id].score is not None}
    chosen = choose_spot_check(scored, wanted.probe_sample or len(scored))
    line = (
        wanted.threshold if wanted.threshold is not None else pass_line(wanted.rubric, wanted.own)
    )
    assert line is not None
    found: dict[str, Any] = {}
    for probe in PROBES:
        pairs: list[tuple[float | None, float | None]] = []
        for row_id in chosen:
            changed = variant_of(probe, scored[row_id].answer)
            if changed is not None:
                again = asker.ask(request_of(scored[row_id], answer=changed))
                pairs.append((readings[row_id].score, again.score))
        summary = summarise_probe(pairs, line=line, n_not_applicable=len(chosen) - len(pairs))
        found[probe] = asdict(summary)
    return found


# --- saved figures --------------------------------------------------------------------------------


def _with_history(
    document: dict[str, Any],
    rows: Sequence[LabelledAnswer],
    readings: Mapping[str, Reading],
    settings: Settings,
    wanted: _Wanted,
) -> tuple[dict[str, Any], Path | None]:
    """Add the comparison with the saved calibration, and save this one if requested."""
    from pytest_rageval.analysis.trust.calibration import answer_hash, scale_of
    from pytest_rageval.analysis.trust.judge import measure_drift
    from pytest_rageval.judges.calibrations import (
        calibration_folder,
        calibration_path,
        read_calibration,
        write_calibration,
    )

    path = calibration_path(calibration_folder(settings), document["judge"], wanted.rubric)
    scores = {answer_hash(row): readings[row.id].score for row in rows}
    stored = read_calibration(path)
    found = {key: number(score) for key, score in part(stored, "scores").items()}
    before = {key: score for key, score in found.items() if score is not None}
    document["drift"] = None
    if stored and before:
        drift = measure_drift(before, scores, scale=scale_of(wanted.rubric, wanted.own))
        document["drift"] = {
            "n": drift.n,
            "n_lost": drift.n_lost,
            "enough": drift.enough,
            **asdict(drift.found),
            "rubric_version_before": stored.get("rubric_version"),
            "text": str(drift),
        }
    if not wanted.save:
        return document, None
    kept = {key: score for key, score in scores.items() if score is not None}
    write_calibration(path, {**document, "scores": kept})
    return document, path
