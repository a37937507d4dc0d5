"""Documents of frameworks as retrieved chunks: stand-ins, and the objects of installed ones."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval import AskRequest, AskResponse, RetrievedChunk
from pytest_rageval.target.adapters import from_documents
from tests.build.asking import ask_client

MARKDOWN = "# Pumps\n\nAll of them.\n\n## Oil\n\nEvery 14 days.\n"


@dataclass
class LangChainDocument:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class LlamaIndexNode:
    text: str
    metadata: dict[str, Any]
    node_id: str = "n1"

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: LlamaIndexNode
    score: float | None = None


@dataclass
class HaystackDocument:
    content: str | None
    meta: dict[str, Any]
    score: float | None = None
    id: str = "h1"


def one(document: object, **options: Any) -> RetrievedChunk:
    (chunk,) = from_documents([document], **options)
    return chunk


def test_a_document_of_langchain_brings_path_headings_and_text() -> None:
    metadata = {"source": "a.md", "Header 2": "Oil", "Header 1": "Pumps"}
    assert one(LangChainDocument("Every 14 days.", metadata, "c7")) == RetrievedChunk(
        rel_path="a.md",
        heading_path="# Pumps > ## Oil",
        text="Every 14 days.",
        chunk_id="c7",
        rank=1,
    )
    assert one((LangChainDocument("t", {"source": "a.md"}), 0.25)).score_final == 0.25


def test_a_node_of_llamaindex_brings_its_score_and_the_headings_above_its_own() -> None:
    metadata = {"file_path": "/data/docs/a.md", "file_name": "a.md", "header_path": "/Pumps/"}
    node = LlamaIndexNode("## Oil\n\nEvery 14 days.", metadata)
    chunk = one(NodeWithScore(node, 0.5), root="/data/docs")
    assert (chunk.rel_path, chunk.heading_path) == ("a.md", "Pumps > Oil")
    assert (chunk.score_final, chunk.chunk_id, chunk.text) == (0.5, "n1", node.text)
    assert one(node).score_final is None


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## Oil ## ", "Pumps > Oil"),
        ("# C#", "Pumps > C#"),
        ("#  # Oil", "Pumps > # Oil"),
        (
            f"# Oil{' ' * 50_000}{' #' * 50_000} pan",
            f"Pumps > Oil{' ' * 50_000}{' #' * 50_000} pan",
        ),
        ("####### Oil", "Pumps"),
        ("Source 2:\n## Oil", "Pumps > Oil"),
        ("Source: 2\n## Oil", "Pumps"),
    ],
)
def test_the_own_heading_of_a_node_is_read_to_what_closes_it(line: str, heading: str) -> None:
    metadata = {"file_path": "a.md", "header_path": "/Pumps/"}
    assert one(LlamaIndexNode(f"{line}\n\nEvery 14 days.", metadata)).heading_path == heading


def test_a_document_of_haystack_brings_its_score_and_its_headings() -> None:
    meta = {"file_path": "a.md", "header": "Oil", "parent_headers": ["Pumps"]}
    chunk = one(HaystackDocument("Every 14 days.", meta, 0.5))
    assert (chunk.rel_path, chunk.heading_path) == ("a.md", "Pumps > Oil")
    assert (chunk.score_final, chunk.chunk_id) == (0.5, "h1")
    assert one(HaystackDocument(None, {"file_path": "a.png"})).text is None


@pytest.mark.parametrize(
    "document",
    [
        {"rel_path": "a.md", "text": "t", "score": 0.5, "id": 7},
        {"page_content": "t", "metadata": {"source": "a.md", "score": 0.5, "_id": 7}},
        {"content": "t", "meta": {"file_name": "a.md"}, "score": 0.5, "chunk_id": "7"},
        {"id": "7", "score": 0.5, "metadata": {"text": "t", "source": "a.md", "chunk": 3}},
        {"id": 7, "text": "t", "score": 0.5, "metadata": {"path": "a.md", "id": "a", "score": 1}},
    ],
)
def test_dicts_with_such_keys_are_read(document: dict[str, Any]) -> None:
    chunk = one(document)
    assert (chunk.rel_path, chunk.text, chunk.score_final, chunk.chunk_id) == (
        "a.md",
        "t",
        0.5,
        "7",
    )


@pytest.mark.parametrize("score", [0, 0.25])
def test_the_score_of_a_pair_goes_before_that_of_its_document(score: float) -> None:
    node = NodeWithScore(LlamaIndexNode("t", {"path": "a.md", "score": 3}), 0.5)
    haystack = HaystackDocument("t", {"path": "a.md"}, 0.5)
    for document in (node, haystack, {"path": "a.md", "score": 0.5}):
        assert one(document).score_final == 0.5
        assert one((document, score)).score_final == score


@pytest.mark.parametrize(
    ("metadata", "fields"),
    [
        ({"source": "b", "path": "c"}, {"rel_path": "b"}),  # in the order of PATHS
        ({"source": "", "url": "c"}, {"rel_path": "c"}),
        ({"source": Path("b")}, {"rel_path": "b"}),
        ({"source": "b", "id": "i", "_id": 7}, {"chunk_id": "i"}),
        ({"source": "b", "_id": 0}, {"chunk_id": "0"}),
        ({"source": "b", "score": "0.5", "similarity": 3}, {"score_final": 0.5}),
        ({"source": "b", "score": "high"}, {"score_final": None}),
        ({"source": "b", "score": float("inf")}, {"score_final": None}),
        ({"source": "b", "heading_path": "H", "header": "I"}, {"heading_path": "H"}),
        ({"source": "b", "heading_path": ["H"], "header": "I"}, {"heading_path": "I"}),
        ({"source": "b", "header": "I", "parent_headers": "H"}, {"heading_path": "I"}),
        ({"source": "b", "header_2": "I", "Header 7": "H"}, {"heading_path": "## I"}),
        ({"source": "b", "header_path": "/"}, {"heading_path": None}),
        ({"source": "b", "header_path": "/H/I/"}, {"heading_path": "H > I"}),
    ],
)
def test_metadata_gives_what_a_document_has_not_by_itself(
    metadata: dict[str, Any], fields: dict[str, Any]
) -> None:
    chunk = one(LangChainDocument("t", metadata))
    assert {name: getattr(chunk, name) for name in fields} == fields
    assert {name: getattr(one({"metadata": metadata}), name) for name in fields} == fields


@pytest.mark.parametrize("odd", ["text", None, [("path", "b.md")]])
def test_metadata_of_another_type_is_none(odd: Any) -> None:
    assert one({"path": "a.md", "text": "t", "metadata": odd}).rel_path == "a.md"
    with pytest.raises(ValueError, match=r"its keys: none; looked for"):
        one(LangChainDocument("t", odd))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "TEXT", "text": 'In "14"\ndays.'}, 'In "14"\ndays.'),
        ([{"type": "text", "text": "One."}, {"type": "image"}, {"text": "Two."}], "One.\nTwo."),
        ([], None),
        ({"type": "IMAGE", "byteContent": "data:"}, None),
    ],
)
def test_content_in_parts_is_read_as_its_text(content: object, text: str | None) -> None:
    assert one({"filename": "a.md", "score": 0.5, "content": content}).text == text


@pytest.mark.parametrize("page", ["9" * 5000, 10**4000])
def test_numbers_too_long_to_be_any_are_left_out(page: object) -> None:
    chunk = one({"path": "a.md", "text": "t", "score": 10**400, "page_number": page})
    assert (chunk.score_final, chunk.pages) == (None, None)


def test_chunks_stay_and_all_are_ranked_in_order() -> None:
    chunk = RetrievedChunk(rel_path="b.md")
    found = from_documents(iter([LangChainDocument("t", {"source": "a.md"}), chunk]))
    assert found[1] is chunk
    assert [one.rank for one in from_documents([{"path": name} for name in "abc"])] == [1, 2, 3]


@pytest.mark.parametrize(
    ("metadata", "pages"),
    [
        ({"page": 0, "page_label": "1"}, (1,)),
        ({"page_label": "iv", "page_number": 3}, (3,)),
        ({"page": 4}, (5,)),
        ({"page": 4.0}, (5,)),
        ({"page_number": 4.0}, (4,)),
        ({"page": 4.5}, None),
        ({"page": 4, "page_label": "v"}, (5,)),
        ({"page": True}, None),
        ({}, None),
    ],
)
def test_pages_of_langchain_count_from_zero_and_its_labels_do_not(
    metadata: dict[str, Any], pages: tuple[int, ...] | None
) -> None:
    metadata = {"source": "a.md", **metadata}
    assert one(LangChainDocument("t", metadata)).pages == pages
    assert one({"page_content": "t", "metadata": metadata}).pages == pages, "as a dict"


def test_the_path_may_be_another_field_or_a_function_of_the_metadata() -> None:
    document = LangChainDocument("t", {"doc": "a", "source": "other", "kind": "md"})
    assert one(document, path="doc").rel_path == "a"
    assert one(document, path=lambda m: f"{m['doc']}.{m['kind']}").rel_path == "a.md"
    assert one({"path": Path("docs") / "a.md"}, root="docs").rel_path == "a.md"
    assert one({"path": "elsewhere/a.md"}, root="docs").rel_path == "elsewhere/a.md"


def test_an_absolute_path_lies_below_a_root_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    node = LlamaIndexNode("t", {"file_path": str(tmp_path / "docs" / "policies" / "a.md")})
    assert one(NodeWithScore(node), root="docs").rel_path == "policies/a.md"
    assert one({"path": "docs/a.md"}, root=tmp_path / "docs").rel_path == "a.md"


def test_a_document_without_a_path_is_refused_with_the_keys_it_has() -> None:
    documents = [{"path": "a.md"}, LangChainDocument("t", {"title": "A"})]
    with pytest.raises(
        ValueError, match=r"documents\[1\]: no path .* \(its keys: title; looked for"
    ):
        from_documents(documents)
    with pytest.raises(ValueError, match=r"\(its keys: title; looked for: doc\)"):
        from_documents(documents[1:], path="doc")


def test_the_advice_on_an_object_is_not_cut_where_a_client_raises_it() -> None:
    hit = {"_id": "7", "_source": {"path": "a.md"}, "matched_queries": [], "inner_hits": {}}
    result = ask_client(lambda request: from_documents([hit]), AskRequest(question="q"))
    assert result.error is not None
    assert "from_documents(documents, path='doc')" in result.error.message
    found = SimpleNamespace(record={"path": "a.md"})
    result = ask_client(lambda request: from_documents([found]), AskRequest(question="q"))
    assert result.error is not None
    assert "a dict such as {'path': ..., 'text': ...}" in result.error.message
    assert result.error.message.endswith("got a value of type SimpleNamespace")


def test_an_index_of_a_page_counts_from_zero_as_the_error_of_a_page_zero_says() -> None:
    row = {"path": "a.md", "text": "t", "metadata": {"page": 0}}
    chunks = from_documents([row])
    result = ask_client(
        lambda request: AskResponse(answer="a", retrieved_chunks=chunks), AskRequest(question="q")
    )
    assert result.error is not None
    assert "counts from 0 belongs into page_index" in result.error.message
    assert one({**row, "metadata": {"page": 0, "page_index": 0}}).pages == (1,)


@pytest.mark.parametrize(
    "odd",
    [
        "text",
        7,
        None,
        SimpleNamespace(text="t"),
        SimpleNamespace(metadata={"path": "a.md"}),
        SimpleNamespace(meta={"path": "a.md"}),
    ],
)
def test_an_object_that_is_not_known_is_refused_with_its_place(odd: object) -> None:
    with pytest.raises(
        TypeError, match=r"documents\[0\]: expected .* a document of LangChain"
    ) as caught:
        from_documents([odd])
    assert f"got a value of type {type(odd).__name__}" in str(caught.value)


def test_the_chunks_are_a_reply_that_is_read() -> None:
    chunks = from_documents([(LangChainDocument("t", {"source": "a.md"}), float("nan"))])
    result = ask_client(
        lambda request: AskResponse(answer="a", retrieved_chunks=chunks), AskRequest(question="q")
    )
    assert result.response is not None
    assert result.response.retrieved_chunks == chunks


# --- objects of the frameworks themselves, where they are installed -------------------------


def installed(module: str) -> Any:
    """Import a framework, or skip the test unless `make test-frameworks` says it is there."""
    if os.environ.get("RAGEVAL_REQUIRE_FRAMEWORKS"):
        return importlib.import_module(module)
    return pytest.importorskip(module)


def test_langchain_itself() -> None:
    documents = installed("langchain_core.documents")
    embeddings = installed("langchain_core.embeddings")
    stores = installed("langchain_core.vectorstores")
    store = stores.InMemoryVectorStore(embeddings.DeterministicFakeEmbedding(size=4))
    metadata = {"source": "a.pdf", "page": 0, "Header 1": "Pumps"}
    store.add_documents([documents.Document(page_content="t", metadata=metadata, id="c1")])
    [found] = store.similarity_search_with_score("t")
    chunk = one(found)
    assert (chunk.rel_path, chunk.text, chunk.chunk_id) == ("a.pdf", "t", "c1")
    assert (chunk.pages, chunk.heading_path, chunk.score_final) == ((1,), "# Pumps", found[1])
    assert one(found[0]).score_final is None


def test_llamaindex_itself() -> None:
    schema = installed("llama_index.core.schema")
    parsers = installed("llama_index.core.node_parser")
    document = schema.Document(text=MARKDOWN, metadata={"file_path": "a.md"})
    nodes = parsers.MarkdownNodeParser().get_nodes_from_documents([document])
    chunks = from_documents([schema.NodeWithScore(node=node, score=0.5) for node in nodes])
    assert [chunk.heading_path for chunk in chunks] == ["Pumps", "Pumps > Oil"]
    assert {(chunk.rel_path, chunk.score_final) for chunk in chunks} == {("a.md", 0.5)}
    assert [chunk.chunk_id for chunk in chunks] == [node.node_id for node in nodes]


def test_the_citation_engine_of_llamaindex_itself() -> None:
    core = installed("llama_index.core")
    engines = installed("llama_index.core.query_engine")
    document = core.Document(text=MARKDOWN, metadata={"file_path": "a.md"})
    index = core.VectorStoreIndex.from_documents(
        [document],
        transformations=[core.node_parser.MarkdownNodeParser()],
        embed_model=core.MockEmbedding(4),
    )
    engine = engines.CitationQueryEngine.from_args(index, llm=core.llms.MockLLM())
    chunks = from_documents(engine.query("How often?").source_nodes)
    assert {chunk.heading_path for chunk in chunks} == {"Pumps", "Pumps > Oil"}


def test_haystack_itself() -> None:
    haystack = installed("haystack")
    splitters = installed("haystack.components.preprocessors")
    stores = installed("haystack.document_stores.in_memory")
    retrievers = installed("haystack.components.retrievers.in_memory")
    whole = haystack.Document(content=MARKDOWN, meta={"file_path": "a.md"})
    store = stores.InMemoryDocumentStore()
    store.write_documents(splitters.MarkdownHeaderSplitter().run([whole])["documents"])
    retriever = retrievers.InMemoryBM25Retriever(document_store=store)
    documents = retriever.run(query="every 14 days")["documents"]
    chunks = from_documents(documents)
    assert chunks[0].heading_path == "Pumps > Oil"
    assert {chunk.rel_path for chunk in chunks} == {"a.md"}
    assert [(chunk.chunk_id, chunk.score_final, chunk.text) for chunk in chunks] == [
        (one.id, one.score, one.content) for one in documents
    ]
