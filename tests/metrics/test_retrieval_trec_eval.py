"""Our values are trec_eval's, to its printed precision, on its own files and on real runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from math import fsum
from random import Random

import ir_measures
import pytest
import pytrec_eval

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.retrieval import (
    Ranking,
    average_precision,
    hit_at_k,
    ndcg_at_k,
    precision_at_k,
    precision_returned_at_k,
    recall_at_k,
    reciprocal_rank,
)
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from tests.build.records import record
from tests.build.scores import score_reply
from tests.build.shared_data import shared_path
from tests.oracles.trec_files import Qrels, Run, read_output, read_qrels, read_run, trec_ranking

# Output file, its qrels and the least relevant grade (trec_eval's -l).
OUTPUTS = {
    "out.test": ("qrels.test", 1),
    "out.test.a": ("qrels.test", 1),
    "out.test.aq": ("qrels.test", 1),
    "out.test.aql": ("qrels.rel_level", 2),
    "out.test.meas_params": ("qrels.test", 1),
}

Kernel = Callable[[Ranking], float]

# Measures without a cutoff, over the whole list.
WHOLE: dict[str, Kernel] = {
    "map": average_precision,
    "recip_rank": reciprocal_rank,
    "ndcg": ndcg_at_k,
    "set_P": precision_returned_at_k,
    "set_recall": recall_at_k,
    # As trec_eval defines it: every relevant document counts with the precision of the whole set.
    "set_map": lambda ranking: precision_returned_at_k(ranking) * recall_at_k(ranking),
}
CUT: dict[str, Kernel] = {
    "P": precision_at_k,
    "recall": recall_at_k,
    "map_cut": average_precision,
    "ndcg_cut": ndcg_at_k,
    "success": hit_at_k,
}
COUNTS: dict[str, Kernel] = {
    "num_q": lambda _: 1,
    "num_ret": lambda ranking: len(ranking.matched),
    "num_rel": lambda ranking: len(ranking.grades),
    "num_rel_ret": lambda ranking: ranking.n_relevant,
}
NOT_OURS = {
    "11pt_avg", "G", "Rndcg", "Rprec", "Rprec_mult", "binG", "bpref", "gm_bpref", "gm_map", "infAP",
    "iprec_at_recall", "ndcg_rel", "num_nonrel_judged_ret", "rbp", "rbp_resid", "relative_P",
    "relstring", "runid", "set_F", "set_relative_P", "unj", "utility",
}  # fmt: skip
OWN_GAINS = "1=3,2=9,4=4.5"
"""Gains that out.test.meas_params gives the grades for one of its measures."""


def split_measure(name: str) -> tuple[str, str | None]:
    """Split the name of a measure from its parameter: ``map_cut_5`` is ``map_cut`` and ``5``."""
    found = re.fullmatch(r"(\w+?)(?:_([\d.].*))?", name)
    assert found is not None
    return found[1], found[2]


def is_ours(name: str) -> bool:
    stem, parameter = split_measure(name)
    return stem in (WHOLE | COUNTS if parameter in {None, OWN_GAINS} else CUT)


@cache
def topics(qrels: str) -> tuple[Qrels, Run]:
    folder = shared_path("data", "ir", "trec_eval")
    return read_qrels(folder / qrels), read_run(folder / "results.test")


@cache
def printed(name: str) -> dict[str, dict[str, str]]:
    return read_output(shared_path("data", "ir", "trec_eval", name))


def measure(name: str, topic: str, qrels: str, level: int) -> float:
    """Compute one of our values of a topic under the name that trec_eval gives it."""
    judged, run = topics(qrels)
    grades, documents = judged[topic], run[topic]
    stem, parameter = split_measure(name)
    if stem.startswith("ndcg"):
        level = 1  # Gains are grades, and -l does not bear on them.
    if parameter == OWN_GAINS:
        grades = {document: {1: 3, 2: 9}.get(grade, 0) for document, grade in grades.items()}
    elif parameter is not None:
        return CUT[stem](trec_ranking(grades, documents, k=int(parameter), level=level))
    return (WHOLE | COUNTS)[stem](trec_ranking(grades, documents, level=level))


def show(name: str, value: float) -> str:
    return str(value) if name in COUNTS else f"{value:.4f}"


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_printed_value_of_every_topic_and_mean_is_reproduced(output: str) -> None:
    qrels, level = OUTPUTS[output]
    assert "all" in printed(output)
    for topic, values in printed(output).items():
        theirs = {name: value for name, value in values.items() if is_ours(name)}
        of = topics(qrels)[0] if topic == "all" else [topic]
        ours = {}
        for name in theirs:
            parts = [measure(name, one, qrels, level) for one in of]
            mean = fmean(parts)
            assert mean is not None
            ours[name] = show(name, int(fsum(parts)) if name in COUNTS else mean)
        assert theirs
        assert ours == theirs, topic


def test_every_measure_of_the_files_is_ours_or_known_not_to_be() -> None:
    names = {name for output in OUTPUTS for values in printed(output).values() for name in values}
    assert {split_measure(name)[0] for name in names if not is_ours(name)} == NOT_OURS
    ours = {split_measure(name)[0] for name in names if is_ours(name)}
    assert ours == {*WHOLE, *CUT, *COUNTS}


def test_the_order_of_the_run_is_by_score_and_not_by_its_rank_column() -> None:
    judged, run = topics("qrels.test")
    ours = "".join(str(judged["302"].get(document, 0)) for document in run["302"][:10])
    assert printed("out.test.aq")["302"]["relstring"] == f"'{ours}'"


# --- end to end ----------------------------------------------------------------------------

KEYS = {
    "P_{k}": "precision_at_k",
    "recall_{k}": "recall_at_k",
    "map_cut_{k}": "map",
    "ndcg_cut_{k}": "ndcg_at_k",
    "success_{k}": "hit_at_k",
}
WHOLE_KEYS = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg_at_k",
    "set_P": "precision_returned_at_k",
    "set_recall": "recall_at_k",
}


def topic_scores(topic: str, qrels: str, level: int, k: int) -> Mapping[str, float | None]:
    """Score a topic as a case whose golds are its relevant documents."""
    judged, run = topics(qrels)
    golds = tuple(
        Anchor(rel_path=document, grade=grade)
        for document, grade in judged[topic].items()
        if grade >= level
    )
    chunks = tuple(RetrievedChunk(rel_path=document) for document in run[topic])
    case = Case(id=topic, question="?", gold_supports=golds)
    response = AskResponse(answer="text", retrieved_chunks=chunks)
    return score_reply(case, response, ScoreSettings(k=k)).metrics


def show_metrics(metrics: Mapping[str, float | None], names: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{metrics[key]:.4f}" for name, key in names.items()}


@pytest.mark.parametrize("k", [10, 1000])
def test_cases_score_as_their_topics_did(k: int) -> None:
    output = printed("out.test.aq")
    names = {theirs.format(k=k): ours for theirs, ours in KEYS.items()}
    if k == 1000:  # Beyond the list and the golds, where cut and whole measures agree.
        names = {**names, **WHOLE_KEYS}
        del names["success_1000"]  # Not printed.
    scores = {topic: topic_scores(topic, "qrels.test", 1, k) for topic in topics("qrels.test")[0]}
    records = [record(topic, dict(metrics)) for topic, metrics in scores.items()]
    means = {key: one.mean for key, one in aggregate(records).metrics.items()}
    for topic, metrics in {**scores, "all": means}.items():
        theirs = {name: output[topic][name] for name in names}
        assert show_metrics(metrics, names) == theirs, topic
        documents = {name: f"doc_{key}" for name, key in names.items()}
        assert show_metrics(metrics, documents) == theirs, topic


def test_grades_are_gains_and_negative_grades_are_not_golds() -> None:
    values = printed("out.test.aql")
    for topic in topics("qrels.rel_level")[0]:
        graded = topic_scores(topic, "qrels.rel_level", 1, 20)
        binary = topic_scores(topic, "qrels.rel_level", 2, 20)
        for prefix in ("", "doc_"):
            assert f"{graded[prefix + 'ndcg_at_k']:.4f}" == values[topic]["ndcg_cut_20"]
            assert f"{binary[prefix + 'recall_at_k']:.4f}" == values[topic]["recall_20"]
            assert f"{binary[prefix + 'map']:.4f}" == values[topic]["map_cut_20"]


# --- drawn and recorded runs, at every usual cutoff --------------------------------------------

PIPELINES = ("drawn", "base", "level_two", "level_three")
CUTOFFS = (1, 3, 5, 10, 20)
IR_MEASURES = {
    "P": ir_measures.P,
    "recall": ir_measures.R,
    "map_cut": ir_measures.AP,
    "ndcg_cut": ir_measures.nDCG,
    "success": ir_measures.Success,
    "recip_rank": ir_measures.RR,
}


def drawn() -> tuple[Qrels, Run]:
    """A hundred questions of graded documents; lists of any length, and none for the last."""
    rng = Random(7)
    documents = [f"d{i}" for i in range(40)]
    qrels: Qrels = {}
    run: Run = {}
    for topic in map(str, range(100)):
        judged = rng.sample(documents, rng.randint(1, 12))
        grades = {document: rng.choice((0, 0, 1, 1, 2, 3)) for document in judged}
        qrels[topic] = {**grades, judged[0]: rng.randint(1, 3)}
        run[topic] = rng.sample(documents, rng.randint(1, 30))
    del run["99"]
    return qrels, run


@cache
def recorded(pipeline: str) -> tuple[Qrels, Run]:
    if pipeline == "drawn":
        return drawn()
    folder = shared_path("data", "ir", "claude_docs")
    return read_qrels(folder / "qrels.txt"), read_run(folder / f"{pipeline}.run")


def falling_scores(run: Run, k: int | None = None) -> dict[str, dict[str, float]]:
    """Give the documents of a run scores that keep their order; equal ones would be re-sorted."""
    return {topic: {d: -float(i) for i, d in enumerate(found[:k])} for topic, found in run.items()}


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_pytrec_eval_agrees_on_every_question(pipeline: str, k: int) -> None:
    qrels, run = recorded(pipeline)
    names = {*(f"{stem}.{k}" for stem in CUT), "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(falling_scores(run, k))
    assert len(theirs) >= 99
    for topic, values in theirs.items():
        ranking = trec_ranking(qrels[topic], run[topic], k=k)
        ours = {f"{stem}_{k}": kernel(ranking) for stem, kernel in CUT.items()}
        ours["recip_rank"] = reciprocal_rank(ranking)
        assert ours == pytest.approx(values, abs=1e-12), topic


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_ir_measures_agrees_on_every_question(pipeline: str, k: int) -> None:
    qrels, run = recorded(pipeline)
    measures = {theirs @ k: stem for stem, theirs in IR_MEASURES.items()}
    kernels = {**CUT, "recip_rank": reciprocal_rank}
    compared = 0
    for one in ir_measures.iter_calc(list(measures), qrels, falling_scores(run)):
        # A question without a line in the run is a zero to ir_measures and no value to us.
        if one.query_id in run:
            ranking = trec_ranking(qrels[one.query_id], run[one.query_id], k=k)
            ours = kernels[measures[one.measure]](ranking)
            assert ours == pytest.approx(one.value, abs=1e-12), (one.query_id, str(one.measure))
            compared += 1
    assert compared == len(run) * len(measures)


@pytest.mark.parametrize("pipeline", ["drawn", "base"])
def test_means_with_errors_as_worst_are_those_over_all_questions(pipeline: str) -> None:
    qrels, run = recorded(pipeline)
    theirs = ir_measures.calc_aggregate([ir_measures.R @ 3], qrels, falling_scores(run))
    records = [
        record(topic, {"recall_at_k": recall_at_k(trec_ranking(grades, run[topic], k=3))})
        if topic in run
        else record(topic, {"recall_at_k": None}, status="error", outcome="error")
        for topic, grades in qrels.items()
    ]
    few = replace(BUILT_IN, cases={"recall_at_k": BUILT_IN.cases["recall_at_k"]})
    found = aggregate(records, registry=few)
    summary = found.metrics["recall_at_k"]
    assert (summary.n, summary.n_error) == (99, 1)
    assert summary.mean_errors_as_worst == pytest.approx(theirs[ir_measures.R @ 3], abs=1e-12)
    assert summary.mean == pytest.approx(theirs[ir_measures.R @ 3] * 100 / 99, abs=1e-12)
