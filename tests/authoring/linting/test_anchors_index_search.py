"""Anchors looked for in a real embedded server, and in targets that misbehave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_rageval.authoring.linting.anchors import lost_anchors
from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest, AskResponse, RetrievedChunk
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.authoring.linting.builders import anchor, placed
from tests.plugin.rag_server import rag_server

NOTE = "# Gates\n\n## North gate\n\nIt opens at 8:15.\n\n## South gate\n\nIt is shut.\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    vault = tmp_path_factory.mktemp("vault")
    (vault / "site").mkdir()
    (vault / "site/gates.md").write_text(NOTE, encoding="utf-8")
    (vault / "tolls.md").write_text("# Tolls\n\nTen cents a boat.\n", encoding="utf-8")
    with start_in_thread(ReferenceConfig(vault=vault)) as handle:
        yield handle.url


def look(url: str, *cases: PlacedCase) -> list[LintFinding]:
    target = TargetSettings(url=url, retries=0)
    settings = Settings(rootdir=".", target=target)
    with open_target(settings, environ={}) as client:
        return list(lost_anchors(client, cases, settings))


def test_anchors_of_the_index_are_found(url: str) -> None:
    case = placed(
        "When does it open?",
        gold_supports=(
            anchor("site/gates.md", "# Gates > ## North gate", "It opens at 8:15."),
            anchor("tolls.md"),
        ),
    )
    assert look(url, case) == []


def test_a_section_that_was_renamed_is_an_error_with_the_nearest(url: str) -> None:
    case = placed(
        "When?", 3, gold_supports=(anchor("site/gates.md", "# Gates > ## Northern gate"),)
    )
    [found] = look(url, case)
    assert (found.severity, found.rule, found.line) == ("error", "unknown-section", 3)
    assert "did you mean '# Gates > ## North gate'?" in found.message


def test_a_document_that_never_comes_is_a_warning(url: str) -> None:
    [found] = look(url, placed("When?", gold_supports=(anchor("gates.md"),)))
    assert (found.severity, found.rule) == ("warning", "not-in-index")
    assert "did you mean 'site/gates.md'?" in found.message


def test_an_anchor_is_looked_for_as_the_user_of_each_case() -> None:
    """The case of a user who may not see the document comes first, as in docs/cases.md."""
    closed = anchor("hr/pay.md", "# Pay")
    ana, boss = {"user": "ana"}, {"user": "boss"}
    cases = [
        placed("q", 1, answerable=False, irrelevant_supports=(closed,), metadata=ana),
        placed("q", 2, gold_supports=(closed,), metadata=boss),
    ]

    def guarded(request: AskRequest) -> AskResponse:
        assert request.case is not None
        may_see = request.case["metadata"]["user"] == "boss"
        chunk = RetrievedChunk(rel_path="hr/pay.md", heading_path="# Pay")
        return AskResponse(answer="a", retrieved_chunks=(chunk,) if may_see else ())

    settings = Settings(rootdir=".")
    assert list(lost_anchors(guarded, cases, settings)) == []
    [found] = lost_anchors(guarded, [placed("q", gold_supports=(closed,), metadata=ana)], settings)
    assert found.rule == "not-in-index"


@pytest.mark.parametrize(
    ("reply", "kind"), [(500, "http"), ({"answer": 7}, "protocol"), ({"answer": "a"}, "protocol")]
)
def test_a_target_that_fails_ends_the_check(reply: dict[str, object] | int, kind: str) -> None:
    with rag_server(lambda question, nth: reply) as server:
        with pytest.raises(EndpointError) as caught:
            look(server.url, placed("q", gold_supports=(anchor("a.md"),)))
    assert caught.value.kind == kind
