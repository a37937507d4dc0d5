"""Relations between the scores of two rankings that hold for every case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from random import Random

import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.matching import norm_path
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from tests.build.scores import score_reply
from tests.properties.scenes import make_case, make_payload, make_settings, seeded

Chunks = tuple[RetrievedChunk, ...]
Metrics = Mapping[str, float | None]
TOLERANCE = 1e-12
# Leaks count below the cut too; tokens have properties of their own (test_context.py).
OTHERS = {"specificity_accuracy", "leak_rate", "recall_at_tokens", "context_carry"}
RANKING = [
    key
    for key, info in BUILT_IN.cases.items()
    if info.level in {"anchor", "document"} and key not in OTHERS
]
RISING = ("hit_at_k", "recall_at_k", "recall_all_at_k", "group_recall_at_k", "mrr", "map")
"""Published measures that a deeper cut never lowers, and whose definition has no k."""
RETURNED = ("precision_returned_at_k", "doc_precision_returned_at_k")


@dataclass(frozen=True)
class Scene:
    """A case with golds, what was retrieved for it, and how it is scored."""

    case: Case
    chunks: Chunks
    settings: ScoreSettings
    dice: Random
    """For what a test varies."""

    def score(
        self, chunks: Chunks | None = None, *, case: Case | None = None, k: int | None = None
    ) -> Metrics:
        found = self.chunks if chunks is None else chunks
        settings = self.settings if k is None else replace(self.settings, k=k)
        response = AskResponse(answer="text", retrieved_chunks=found)
        return score_reply(case or self.case, response, settings).metrics

    @property
    def k(self) -> int:
        return self.settings.k


def make_scene(dice: Random) -> Scene:
    payload = make_payload(dice)
    payload["debug"]["retrieved_chunks"] = payload["debug"]["retrieved_chunks"] or []
    # In list order from here on, so that a test may move chunks.
    chunks = [
        replace(chunk, rank=None, rank_before_rerank=None, embedding=None)
        for chunk in parse_ask_response(payload).retrieved_chunks or ()
    ]
    case = replace(make_case(dice, golds=True), k=None, recency_conflict_rule=None, metadata={})
    return Scene(case, tuple(chunks), make_settings(dice), dice)


scenes = seeded(make_scene)


def assert_none_rises(before: Metrics, after: Metrics, keys: Sequence[str] = RANKING) -> None:
    for key in keys:
        old, new = before[key], after[key]
        if old is not None and new is not None:
            assert new <= old + TOLERANCE, key


def with_documents(keys: Sequence[str]) -> list[str]:
    """Ranking measures of anchors, and those of documents that have a twin."""
    return [key for key in RANKING if key.removeprefix("doc_") in keys]


def junk(number: int = 0) -> RetrievedChunk:
    """A chunk of a document that no case knows, with a text for where snippets are read."""
    return RetrievedChunk(rel_path=f"junk/{number}.md", heading_path="# J", text=f"junk {number}")


def insert(chunks: Chunks, at: int, chunk: RetrievedChunk) -> Chunks:
    return (*chunks[:at], chunk, *chunks[at:])


def test_the_scenes_hold_evidence_at_every_level() -> None:
    scores = [scene.score() for scene in map(make_scene, map(Random, range(600)))]
    for key in (*RANKING, "specificity_accuracy"):
        values = [value for metrics in scores if (value := metrics[key]) is not None]
        assert sum(value > 0 for value in values) > 20, key
        assert sum(value < 1 for value in values) > 20, key


# --- cutoffs -------------------------------------------------------------------------------


def dcg(scene: Scene, metrics: Metrics, k: int) -> float | None:
    """Undo the division of nDCG."""
    best = sorted((gold.grade for gold in scene.case.gold_supports), reverse=True)[:k]
    ideal = sum(grade / log2(rank + 1) for rank, grade in enumerate(best, start=1))
    return None if metrics["ndcg_at_k"] is None else metrics["ndcg_at_k"] * ideal


@given(scenes)
def test_found_evidence_grows_with_the_cut(scene: Scene) -> None:
    cut, deeper = scene.score(), scene.score(k=scene.k + 1)
    assert_none_rises(deeper, cut, with_documents(RISING))
    for key in ("precision_at_k", "doc_precision_at_k"):
        before, after = cut[key], deeper[key]
        if before is not None and after is not None:
            assert before * scene.k <= after * (scene.k + 1) + TOLERANCE, key
    before, after = dcg(scene, cut, scene.k), dcg(scene, deeper, scene.k + 1)
    if before is not None and after is not None:
        assert before <= after + TOLERANCE
    assert_none_rises(cut, deeper, ["specificity_accuracy"])


@given(scenes)
def test_a_cut_beyond_list_and_golds_changes_precision_at_k_alone(scene: Scene) -> None:
    enough = max(1, len(scene.chunks), len(scene.case.gold_supports))
    full, beyond = scene.score(k=enough), scene.score(k=enough + 7)
    for key in with_documents((*RISING, "precision_at_k", "precision_returned_at_k", "ndcg_at_k")):
        value = full[key]
        if value is not None and key.removeprefix("doc_") == "precision_at_k":
            value = value * enough / (enough + 7)
        assert beyond[key] == value or abs((beyond[key] or 0) - (value or 0)) < TOLERANCE, key


@given(scenes)
def test_what_lies_below_the_cut_counts_nowhere(scene: Scene) -> None:
    top, rest = scene.chunks[: scene.k], list(scene.chunks[scene.k :])
    scene.dice.shuffle(rest)
    expected = scene.score(top)
    assert scene.score((*top, *rest)) == expected
    if len(top) == scene.k:
        assert scene.score((*top, *(junk(i) for i in range(3)))) == expected


# --- names -----------------------------------------------------------------------------------


@given(scenes)
def test_ids_and_scores_count_nowhere(scene: Scene) -> None:
    renamed = tuple(
        replace(
            chunk,
            chunk_id=chunk.chunk_id and f"other-{chunk.chunk_id}",
            score_vector=scene.dice.random(),
            score_lexical=-1.0,
            score_final=float(number),
            start_line=number,
        )
        for number, chunk in enumerate(scene.chunks)
    )
    assert scene.score(renamed) == scene.score()


@given(scenes)
def test_the_spelling_of_paths_and_headings_counts_nowhere(scene: Scene) -> None:
    respelled = tuple(
        replace(
            chunk,
            rel_path=f" ./{chunk.rel_path}".replace("/", "//"),
            heading_path=chunk.heading_path and f"  {chunk.heading_path.upper()}\n",
        )
        for chunk in scene.chunks
    )
    assert scene.score(respelled) == scene.score()


@given(scenes)
def test_the_order_in_which_golds_are_written_counts_nowhere(scene: Scene) -> None:
    golds = scene.case.gold_supports
    order = scene.dice.sample(range(len(golds)), len(golds))
    place = {old: new for new, old in enumerate(order)}
    groups = scene.case.required_support_groups
    if groups is not None:
        moved = [[place[index] for index in group] for group in groups]
        groups = tuple(tuple(scene.dice.sample(g, len(g))) for g in reversed(moved))
    permuted = replace(
        scene.case,
        gold_supports=tuple(golds[old] for old in order),
        irrelevant_supports=scene.case.irrelevant_supports[::-1],
        required_support_groups=groups,
    )
    assert scene.score(case=permuted) == scene.score()


@given(scenes)
def test_one_more_alternative_never_lowers_the_groups(scene: Scene) -> None:
    count = len(scene.case.gold_supports)
    some = (tuple(range(count)),)
    more = (*some, (scene.dice.randrange(count),))
    few = scene.score(case=replace(scene.case, required_support_groups=some))
    many = scene.score(case=replace(scene.case, required_support_groups=more))
    assert_none_rises(many, few, ["recall_all_at_k", "group_recall_at_k"])
    # One group of all golds is plain recall.
    assert few["group_recall_at_k"] == few["recall_at_k"]


# --- noise -----------------------------------------------------------------------------------


@given(scenes)
def test_junk_never_raises_a_score(scene: Scene) -> None:
    at = scene.dice.randint(0, len(scene.chunks))
    assert_none_rises(scene.score(), scene.score(insert(scene.chunks, at, junk())))


@given(scenes)
def test_junk_at_the_end_lowers_only_the_precision_of_the_returned(scene: Scene) -> None:
    plain, noisy = scene.score(), scene.score((*scene.chunks, junk()))
    for key in RANKING:
        if key not in RETURNED:
            assert noisy[key] == plain[key], key
    assert_none_rises(plain, noisy, RETURNED)


def copyable(chunk: RetrievedChunk) -> bool:
    """Whether a copy differs from another chunk of the section, by its id or its text."""
    return bool(chunk.chunk_id) or chunk.text is not None


@given(scenes)
def test_a_copy_adds_nothing(scene: Scene) -> None:
    places = [i for i, chunk in enumerate(scene.chunks) if copyable(chunk)]
    if not places:
        return
    original = scene.dice.choice(places)
    copy, plain = scene.chunks[original], scene.score()
    at_end = scene.score((*scene.chunks, copy))
    for key in RANKING:
        if key != "precision_returned_at_k":
            assert at_end[key] == plain[key], key
    assert_none_rises(plain, at_end, RETURNED)
    at = scene.dice.randint(original + 1, len(scene.chunks))
    # A copy that pushes a wrong document out of the cut leaves fewer documents returned.
    keys = [key for key in RANKING if key != "doc_precision_returned_at_k"]
    assert_none_rises(plain, scene.score(insert(scene.chunks, at, copy)), keys)


@given(scenes)
def test_moving_evidence_up_past_junk_never_lowers_a_score(scene: Scene) -> None:
    at = scene.dice.randint(0, len(scene.chunks))
    below = insert(scene.chunks, at, junk())
    if at == len(scene.chunks):
        return
    above = insert(scene.chunks, at + 1, junk())
    assert_none_rises(scene.score(above), scene.score(below))


@given(scenes)
def test_what_the_order_changes_does_not_apply_without_ranks(scene: Scene) -> None:
    whole = replace(scene, settings=replace(scene.settings, k=max(1, len(scene.chunks))))
    forth, back = whole.score(), whole.score(tuple(reversed(scene.chunks)))
    unranked = replace(whole, settings=replace(whole.settings, ranked=False)).score()
    copies = with_documents(("precision_at_k", "precision_returned_at_k"))  # the first one counts
    for key in RANKING:
        if forth[key] != back[key] and key not in copies:
            assert unranked[key] is None, key


# --- perfect rankings ------------------------------------------------------------------------

GRADES = st.lists(st.integers(1, 4), min_size=1, max_size=8)


@given(grades=GRADES, k=st.integers(1, 12), extra=st.integers(0, 3))
def test_a_perfect_ranking_scores_one(grades: list[int], k: int, extra: int) -> None:
    golds = tuple(
        Anchor(rel_path=f"{i}.md", heading_path="# S", grade=grade)
        for i, grade in enumerate(grades)
    )
    best_first = sorted(golds, key=lambda gold: -gold.grade)
    perfect = [RetrievedChunk(rel_path=g.rel_path, heading_path="# S > ## T") for g in best_first]
    response = AskResponse(
        answer="text", retrieved_chunks=(*perfect, *(junk(i) for i in range(extra)))
    )
    case = Case(id="x", question="?", gold_supports=golds)
    metrics = score_reply(case, response, ScoreSettings(k=k)).metrics
    share = min(k, len(golds)) / len(golds)
    found = min(k, len(golds))
    for prefix in ("", "doc_"):
        for key in ("ndcg_at_k", "mrr", "hit_at_k"):
            assert metrics[prefix + key] == 1, key
        for key in ("recall_at_k", "map"):
            value = metrics[prefix + key]
            assert value is not None
            assert abs(value - share) < TOLERANCE, key
        assert metrics[f"{prefix}precision_at_k"] == found / k
        assert metrics[f"{prefix}precision_returned_at_k"] == found / min(k, len(golds) + extra)


# --- documents -------------------------------------------------------------------------------


@given(scenes)
def test_documents_score_as_anchors_where_each_is_one_chunk(scene: Scene) -> None:
    golds = {norm_path(gold.rel_path): gold for gold in scene.case.gold_supports}
    whole = tuple(Anchor(rel_path=path, grade=gold.grade) for path, gold in golds.items())
    chunks = {norm_path(chunk.rel_path): chunk for chunk in scene.chunks}
    case = replace(
        scene.case,
        gold_supports=whole,
        irrelevant_supports=(),
        required_support_groups=None,
    )
    plain = replace(scene, settings=ScoreSettings(k=scene.k))
    metrics = plain.score(tuple(chunks.values()), case=case)
    for key in RANKING:
        if key.startswith("doc_"):
            assert metrics[key] == metrics[key.removeprefix("doc_")], key


TREC: Mapping[str, Callable[[int], str]] = {
    "doc_recall_at_k": lambda k: f"recall_{k}",
    "doc_precision_at_k": lambda k: f"P_{k}",
    "doc_ndcg_at_k": lambda k: f"ndcg_cut_{k}",
    "doc_map": lambda k: f"map_cut_{k}",
    "doc_mrr": lambda _: "recip_rank",
    "doc_hit_at_k": lambda k: f"success_{k}",
    "doc_precision_returned_at_k": lambda _: "set_P",
}


@given(scenes)
def test_trec_eval_agrees_on_the_documents_of_any_cut(scene: Scene) -> None:
    vaultless = tuple(replace(gold, vault=None) for gold in scene.case.gold_supports)
    case = replace(scene.case, gold_supports=vaultless)
    k = scene.k
    metrics = replace(scene, settings=ScoreSettings(k=k)).score(case=case)
    qrels: dict[str, int] = {}
    for gold in vaultless:
        path = norm_path(gold.rel_path)
        qrels[path] = max(gold.grade, qrels.get(path, 0))
    ranked = dict.fromkeys(norm_path(chunk.rel_path) for chunk in scene.chunks[:k])
    run = {path: -float(rank) for rank, path in enumerate(ranked)}
    if not run:
        return
    names = {f"{stem}.{k}" for stem in ("recall", "P", "ndcg_cut", "map_cut", "success")}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": qrels}, {*names, "recip_rank", "set_P"})
    theirs = evaluator.evaluate({"q": run})["q"]
    for key, name in TREC.items():
        assert abs((metrics[key] or 0) - theirs[name(k)]) < TOLERANCE, key


@given(scenes)
def test_the_right_section_is_never_in_the_wrong_document(scene: Scene) -> None:
    metrics = scene.score()
    for key in ("hit_at_k", "mrr"):
        anchor, document = metrics[key], metrics[f"doc_{key}"]
        assert anchor is None or document is None or anchor <= document, key
