"""hayhooks, LangServe and FastMCP themselves, where they are installed, asked as the pages say."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.site.recipes import recipes
from pytest_rageval.authoring.doctor.target import ask_case, check_replies
from pytest_rageval.engine.case import ask_request
from pytest_rageval.metrics.scoring import score_case, score_settings
from pytest_rageval.metrics.view import view_case
from pytest_rageval.project.settings import load_settings
from pytest_rageval.target.opening import open_target
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseScores
from pytest_rageval.values.reply import AskResponse
from tests.build.asking import ask_client
from tests.build.targets import fake_target, json_reply, unused_port
from tests.docs.examples import read_document, sections

CASE = Case(
    id="shoes",
    question="How long can unworn shoes be returned?",
    gold_supports=(Anchor(rel_path="refunds.md"),),
)
TEXT = "Unworn shoes can be returned within 30 days with the receipt."
CONTENTS = """\
NOTES = {
    "refunds.md": "Unworn shoes can be returned within 30 days with the receipt.",
    "shipping.md": "Standard delivery takes three to five working days.",
}


def search(question):
    words = {word.strip("?.").lower() for word in question.split()}
    shared = {name: len(words & set(text.lower().split())) for name, text in NOTES.items()}
    return sorted(NOTES, key=lambda name: -shared[name])
"""
WRAPPER = """\
from hayhooks import BasePipelineWrapper
from haystack import Document
from haystack.components.builders import AnswerBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        store = InMemoryDocumentStore(index="NAME", shared=True)
        notes = [
            Document(content=text, meta={"file_path": f"/srv/docs/{name}"})
            for name, text in NOTES.items()
        ]
        store.write_documents(notes, policy=DuplicatePolicy.OVERWRITE)
        self.retriever = InMemoryBM25Retriever(document_store=store, top_k=2)

    def run_api(self, question: str) -> dict:
        documents = self.retriever.run(query=question)["documents"]
        text = documents[0].content
        return RESULT
"""
RESULTS = {
    "text": '{"answer": text, "documents": documents}',
    "message": '{"replies": [ChatMessage.from_assistant(text)], "documents": documents}',
    "answers": "AnswerBuilder().run(query=question, replies=[text], documents=documents)",
}
YAML = """\
components:
  retriever:
    type: haystack.components.retrievers.in_memory.bm25_retriever.InMemoryBM25Retriever
    init_parameters:
      document_store:
        type: haystack.document_stores.in_memory.document_store.InMemoryDocumentStore
        init_parameters: {index: text, shared: true}
      top_k: 2
  prompt:
    type: haystack.components.builders.chat_prompt_builder.ChatPromptBuilder
    init_parameters:
      template:
        - _role: user
          _content:
            - text: "{% for one in documents %}{{ one.content }}{% endfor %} {{ question }}"
      required_variables: "*"
  llm:
    type: haystack.components.generators.chat.openai.OpenAIChatGenerator
    init_parameters:
      api_key: {type: env_var, env_vars: [OPENAI_API_KEY], strict: true}
      api_base_url: URL/v1
      model: m
connections:
  - {sender: retriever.documents, receiver: prompt.documents}
  - {sender: prompt.prompt, receiver: llm.messages}
inputs:
  question: [retriever.query, prompt.question]
outputs:
  replies: llm.replies
  documents: retriever.documents
"""
LANGSERVE = """\
import sys

import uvicorn
from fastapi import FastAPI
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langserve import add_routes


def answered(given):
    names = search(dict(given)["input"])
    found = [
        Document(page_content=NOTES[name], metadata={"source": f"docs/{name}", "score": 0.5})
        for name in names
    ]
    return {"answer": NOTES[names[0]], "context": found}


app = FastAPI()
chain = RunnableLambda(answered)
RECIPE
model = FakeListChatModel(responses=[NOTES["refunds.md"]])
prompt = ChatPromptTemplate.from_messages([("user", "{input}")])
add_routes(app, prompt | model, path="/chat")
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""
FASTMCP = """\
import sys

from fastmcp import FastMCP

server = FastMCP("notes")


@server.tool(name="search")
def documents(query: str) -> dict:
    return {"documents": [{"path": name, "text": NOTES[name]} for name in search(query)]}


@server.tool
def ask(question: str) -> dict:
    names = search(question)
    if not question.startswith("How"):
        raise ValueError("no such question")
    found = [{"path": name, "text": NOTES[name], "score": 0.5} for name in names]
    return {"answer": NOTES[names[0]], "passages": found}


stateless = sys.argv[2] == "stateless"
server.run(
    transport="http", host="127.0.0.1", port=int(sys.argv[1]), stateless_http=stateless,
    show_banner=False,
)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply, and its scores."""

    response: AskResponse
    scores: CaseScores

    @property
    def paths(self) -> list[str]:
        """Documents of the chunks as they are scored."""
        return [one.rel_path for one in self.response.retrieved_chunks or ()]


def needs(module: str) -> None:
    """Skip a test without a server, unless `make test-frameworks` says that it is there."""
    if not os.environ.get("RAGEVAL_REQUIRE_FRAMEWORKS") and not importlib.util.find_spec(module):
        pytest.skip(f"{module} is not installed")


@contextmanager
def served(folder: Path, *command: str, port: int, **environ: str) -> Iterator[str]:
    """Run Python with a server until it listens, and yield its address."""
    log = folder / "server.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env={**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "False", **environ},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 90
            while running.poll() is None and time.monotonic() < deadline:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            else:
                pytest.fail(log.read_text(encoding="utf-8", errors="replace")[-3000:])
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait(30)


def asked(folder: Path, toml: str, url: str, question: str = CASE.question) -> Asked:
    """Ask a server under the settings of a page, and score its reply."""
    case = Case(id=CASE.id, question=question, gold_supports=CASE.gold_supports)
    (folder / "pyproject.toml").write_text(toml, encoding="utf-8")
    settings = load_settings(folder, flags={"rageval_rag_url": url}, environ={})
    with open_target(settings, environ={}) as client:
        result = ask_client(client, ask_request(case, settings))
        found, about = ask_case(client, case, settings)
    assert result.error is None, result.error
    assert not [one for one in check_replies(found, found, about) if one.level == "FAIL"]
    view = view_case(case, result.response, score_settings(settings))
    assert view.response is not None
    return Asked(view.response, score_case(view))


def preset(name: str, variable: str) -> str:
    """Return the settings of a preset whose variable is "rag"."""
    return f'[tool.rageval.target]\npreset = "{name}"\nvars = {{ {variable} = "rag" }}\n'


def block(page: str, title: str, language: str) -> str:
    """Return the block of a section in a language."""
    (section,) = [one for one in sections(read_document(page)) if one.title == title]
    return next(one.text for one in section.blocks if one.language == language)


# --- hayhooks --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hayhooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    needs("hayhooks")
    folder, port = tmp_path_factory.mktemp("hayhooks"), unused_port()
    for name, result in RESULTS.items():
        (folder / "pipelines" / name).mkdir(parents=True)
        # Wrappers are deployed at once, and a store must not be written to by two.
        code = WRAPPER.replace("RESULT", result).replace("NAME", name)
        (folder / "pipelines" / name / "pipeline_wrapper.py").write_text(CONTENTS + code)
    message = {"role": "assistant", "content": TEXT}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    about = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    with fake_target(json_reply({**about, "choices": [choice]})) as model:
        (folder / "pipelines/components.yml").write_text(YAML.replace("URL", model.url))
        start = "from hayhooks.cli import hayhooks_cli; hayhooks_cli()"
        command = ("-c", start, "run", "--host", "127.0.0.1", "--port", str(port))
        more = ("--pipelines-dir", "pipelines")
        # Side by side, it logs a failed deployment and serves the rest: imports race.
        set_up = {"OPENAI_API_KEY": "sk-0", "HAYHOOKS_STARTUP_DEPLOY_STRATEGY": "sequential"}
        with served(folder, *command, *more, port=port, **set_up) as url:
            yield url


@pytest.mark.parametrize("pipeline", RESULTS)
def test_wrappers_of_hayhooks_are_read_by_its_preset(
    pipeline: str, hayhooks: str, tmp_path: Path
) -> None:
    toml = preset("hayhooks", "pipeline")
    toml = toml.replace('"rag"', f'"{pipeline}"') + 'strip_root = "/srv/docs"\n'
    found = asked(tmp_path, toml, hayhooks)
    assert found.response.answer == TEXT
    assert found.paths[0] == "refunds.md"
    assert found.scores.metrics["hit_at_k"] == found.scores.metrics["mrr"] == 1
    assert all(one.chunk_id and one.score_final for one in found.response.retrieved_chunks or ())


def test_a_pipeline_from_yaml_is_read_as_the_recipe_says(hayhooks: str, tmp_path: Path) -> None:
    page = next(one.text for one in recipes() if one.name == "hayhooks")
    lines = [line for line in page.split("`") if line.startswith(("response.", "response.retr"))]
    toml = preset("hayhooks", "pipeline")
    toml = toml.replace('"rag"', '"components"') + "\n".join(lines)
    found = asked(tmp_path, toml, hayhooks)
    assert found.response.answer == TEXT
    assert found.paths[0] == "/srv/docs/refunds.md"


# --- LangServe -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def langserve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    needs("langserve")
    folder, port = tmp_path_factory.mktemp("langserve"), unused_port()
    text = next(one.text for one in recipes() if one.name == "langserve")
    recipe = text.split("```python\n")[1].split("```")[0]
    (folder / "app.py").write_text(CONTENTS + LANGSERVE.replace("RECIPE", recipe))
    with served(folder, "app.py", str(port), port=port) as url:
        yield url


@pytest.mark.parametrize(("route", "paths"), [("rag", ["refunds.md", "shipping.md"]), ("chat", [])])
def test_chains_of_langserve_are_read_by_its_preset(
    route: str, paths: list[str], langserve: str, tmp_path: Path
) -> None:
    toml = preset("langserve", "route")
    toml = toml.replace('"rag"', f'"{route}"') + 'strip_root = "docs"\n'
    found = asked(tmp_path, toml, langserve)
    assert found.response.answer == TEXT
    assert found.paths == paths
    assert found.scores.metrics["hit_at_k"] == (1 if paths else None)


# --- FastMCP ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["stateful", "stateless"])
def fastmcp(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    needs("fastmcp")
    folder, port = tmp_path_factory.mktemp("fastmcp"), unused_port()
    (folder / "app.py").write_text(CONTENTS + FASTMCP)
    with served(folder, "app.py", str(port), request.param, port=port) as url:
        yield url, request.param


def with_session(folder: Path, toml: str, url: str, kind: str) -> str:
    """Write the module that opens a session, and name it where the server wants one."""
    lines = [line for line in toml.splitlines() if not line.startswith("auth = ")]
    if kind == "stateless":
        return "\n".join(lines)
    name = f"mcp_session_{folder.name}"
    code = block("streams.md", "MCP servers", "python").replace("http://127.0.0.1:8000", url)
    (folder / f"{name}.py").write_text(code)
    at = lines.index('path = "/mcp"')
    return "\n".join([*lines[:at], f'auth = "{name}:headers"', *lines[at:]])


def test_a_search_tool_of_fastmcp_gives_chunks_and_no_answer(
    fastmcp: tuple[str, str], tmp_path: Path
) -> None:
    url, kind = fastmcp
    toml = with_session(tmp_path, block("streams.md", "MCP servers", "toml"), url, kind)
    found = asked(tmp_path, toml, url)
    assert found.paths == ["refunds.md", "shipping.md"]
    assert found.scores.metrics["hit_at_k"] == found.scores.metrics["mrr"] == 1
    assert found.scores.metrics["correctness"] is None


def test_a_tool_of_fastmcp_that_answers_is_read_as_the_page_says(
    fastmcp: tuple[str, str], tmp_path: Path
) -> None:
    url, kind = fastmcp
    toml = with_session(tmp_path, block("systems.md", "MCP tools", "toml"), url, kind)
    found = asked(tmp_path, toml, url)
    assert found.response.answer == TEXT
    assert found.paths == ["refunds.md", "shipping.md"]
    (tmp_path / "pyproject.toml").write_text(toml, encoding="utf-8")
    settings = load_settings(tmp_path, flags={"rageval_rag_url": url}, environ={})
    with open_target(settings, environ={}) as client:
        failed = ask_client(client, ask_request(Case(id="c", question="What?"), settings))
    assert failed.error is not None
    assert failed.error.kind == "target"
    assert "no such question" in failed.error.message


def test_fastmcp_without_the_session_that_it_wants_is_diagnosed(
    fastmcp: tuple[str, str], tmp_path: Path
) -> None:
    url, kind = fastmcp
    toml = with_session(tmp_path, block("streams.md", "MCP servers", "toml"), url, "stateless")
    (tmp_path / "pyproject.toml").write_text(toml, encoding="utf-8")
    settings = load_settings(tmp_path, flags={"rageval_rag_url": url}, environ={})
    with open_target(settings, environ={}) as client:
        result, about = ask_case(client, CASE, settings)
    failed = [one for one in check_replies(result, None, about) if one.level == "FAIL"]
    assert [one.check for one in failed] == (["session"] if kind == "stateful" else [])
