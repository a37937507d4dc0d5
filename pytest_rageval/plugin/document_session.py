"""Documents of a session: put into the target before the first case, deleted after the last.

Only the process that sees every report does so, once for all workers. A custom ``rag_client``
fixture takes them from the fixture ``rageval_documents`` instead, in every process.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.plugin.client_fixtures import asks_configured_target, served_vault
from pytest_rageval.plugin.items import CaseItem
from pytest_rageval.plugin.state import State, asks_nothing, is_xdist_controller
from pytest_rageval.plugin.terminal import error_text, exit_with_faults, usage_error
from pytest_rageval.project.documents import (
    DocumentSet,
    LoadedDocument,
    documents_path,
    find_loader,
    load_documents,
    read_document_set,
)
from pytest_rageval.project.settings import target_kind
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.project_code import importable
from pytest_rageval.support.text import clean, counted
from pytest_rageval.values.errors import DatasetError, EndpointError, RagEvalError
from pytest_rageval.values.settings import Settings

if TYPE_CHECKING:
    from pytest_rageval.target.documents import DocumentsClient

FIXTURE = "rageval_documents"


def register_documents(config: pytest.Config, state: State) -> None:
    """Install the hooks of a session whose cases have documents.

    Raises:
        pytest.exit.Exception: a file of documents is wrong (exit 2).
    """
    try:
        sets = read_sets(state)
    except DatasetError as error:
        exit_with_faults(config, "files of documents", error_text(error, config))
    if sets:
        config.pluginmanager.register(DocumentSession(config, state, sets), "rageval-documents")


def read_sets(state: State) -> tuple[DocumentSet, ...]:
    """Read the document files beside the case files of a session.

    Raises:
        DatasetError: with the faults of every file.
    """
    rootdir = Path(state.settings.rootdir)
    found: list[DocumentSet] = []
    wrong: list[DatasetError] = []
    for file in state.files:
        path = documents_path(file)
        if not path.is_file():
            continue
        shown = shown_below(path, rootdir)
        try:
            found.append(read_document_set(path, display=shown))
        except DatasetError as error:
            wrong.append(error)
    if wrong:
        faults = [fault for error in wrong for fault in error.faults]
        raise DatasetError("\n".join(map(str, wrong)), faults=tuple(faults))
    return tuple(found)


def loaded(state: State, sets: Iterable[DocumentSet]) -> Iterator[LoadedDocument]:
    """Yield documents with their texts.

    Raises:
        ConfigError: the loader of the project fails.
        DatasetError: a file of a text cannot be read.
    """
    with importable(state.settings.rootdir):
        loader = find_loader(state.settings.documents_loader)
        for one in sets:
            yield from load_documents(one, loader)


class DocumentSession:
    """Hooks of a session whose cases have documents."""

    def __init__(self, config: pytest.Config, state: State, sets: Sequence[DocumentSet]) -> None:
        self._config = config
        self._state = state
        self._sets = {one.path: one for one in sets}
        self._client: DocumentsClient | None = None
        self._sent: list[DocumentSet] = []
        """Sets whose documents may be in the target; other folders are not cleaned up."""

    # First, so that no case is asked ahead before the documents are in the target.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Put the documents in, run the cases, and clean up by policy in every case."""
        sets = () if self._state.is_worker else self._wanted(session)
        if not sets:
            return (yield)
        with ExitStack() as stack:
            passed = False
            try:
                settings = self._served(stack)
                self._put(settings, sets)
                result = yield
                passed = not session.testsfailed
                return result
            finally:
                self._state.termination.hold()
                self._clean_up(passed=passed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Refuse a case of a worker that would run without its documents."""
        if self._state.is_worker and isinstance(item, CaseItem) and self._lacks_documents(item):
            pytest.fail(_no_way(item), pytrace=False)

    # --- selection of sets and target

    def _wanted(self, session: pytest.Session) -> tuple[DocumentSet, ...]:
        """Return the sets with a case that is asked over HTTP.

        Raises:
            pytest.UsageError: a case asks a target that does not get the documents.
        """
        cassettes = self._state.cassettes
        if asks_nothing(self._config) or (cassettes is not None and cassettes.replaying):
            return ()
        if is_xdist_controller(self._config):  # it knows no items; workers look at theirs
            return tuple(self._sets.values()) if self._takes_documents else ()
        wanted: dict[Path, DocumentSet] = {}
        for item in session.items:
            if not isinstance(item, CaseItem) or item.nothing_to_do:
                continue
            found = self._set_of(item)
            if found is not None and self._lacks_documents(item):
                raise pytest.UsageError(_no_way(item))
            if found is not None and asks_configured_target(item):
                wanted[found.path] = found
        return tuple(wanted.values())

    def _set_of(self, item: CaseItem) -> DocumentSet | None:
        return self._sets.get(documents_path(item.path))

    def _lacks_documents(self, item: CaseItem) -> bool:
        if self._set_of(item) is None or "rag_client" not in item.fixturenames:
            return False
        asks_ours = asks_configured_target(item)
        return not (self._takes_documents if asks_ours else FIXTURE in item.fixturenames)

    @property
    def _takes_documents(self) -> bool:
        """Whether the configured target is asked over HTTP."""
        return target_kind(self._state.settings) in {"url", "vault"}

    def _served(self, stack: ExitStack) -> Settings:
        """Return the settings with the URL of the target; start it if it is embedded."""
        state, settings = self._state, self._state.settings
        if target_kind(settings) == "url":
            return settings
        if state.target_url is None:
            if is_xdist_controller(self._config):
                raise pytest.UsageError(
                    "documents for the embedded target: workers on other machines serve their "
                    "own; name a target with --rag-url"
                )
            state.target_url = stack.enter_context(served_vault(settings, self._config))
            if state.cassettes is not None:
                state.cassettes.served_at = state.target_url
        # Headers are meant for a configured URL, which is missing here.
        return replace(settings, target=replace(settings.target, url=state.target_url))

    # --- upload and clean-up

    def _put(self, settings: Settings, sets: Sequence[DocumentSet]) -> None:
        from pytest_rageval.target.documents import DocumentsClient

        try:
            # All texts first: a run that cannot load them must not change the target.
            texts = [(one, list(loaded(self._state, [one]))) for one in sets]
            with importable(settings.rootdir):
                client = DocumentsClient(settings.target, self._path(settings), environ=os.environ)
            self._client = client
            for one, documents in texts:
                self._put_one(client, one, documents)
        except RagEvalError as error:
            raise usage_error(error, self._config) from error

    def _put_one(
        self, client: DocumentsClient, one: DocumentSet, documents: Sequence[LoadedDocument]
    ) -> None:
        if documents:
            self._sent.append(one)
        try:
            n = client.put(one.scope_prefix, documents)
        except EndpointError as error:
            if error.kind == "connection" and not client.has_put:
                self._sent.clear()  # the target was not reached, so it has none
            said = error_text(error, self._config)
            message = f"the documents of {one.display} could not be put in: {said}"
            raise usage_error(message, self._config) from error
        found = f"{counted(n, 'document')} of {one.display} put below {one.scope_prefix}"
        self._say(found)

    def _path(self, settings: Settings) -> str:
        # The embedded server has a fixed path.
        embedded = target_kind(self._state.settings) == "vault"
        return "/api/v1/documents" if embedded else settings.documents_path

    def _clean_up(self, *, passed: bool) -> None:
        policy = self._state.settings.documents_cleanup
        if self._client is None or target_kind(self._state.settings) == "vault":
            return  # nothing was put, or it ends with its server
        if policy == "none" or (policy == "on-success" and not passed):
            why = "" if policy == "none" else ", for the run did not pass"
            for one in self._sent:
                self._say(f"documents stay below {one.scope_prefix} (cleanup {policy}{why})")
            return
        for one in self._sent:
            try:
                self._client.delete(one.scope_prefix)
            except RagEvalError as error:
                self._say(f"documents below {one.scope_prefix} could not be deleted: {error}")
            else:
                self._say(f"documents below {one.scope_prefix} are deleted again")

    def _say(self, text: str) -> None:
        reporter: Any = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            # The percentage of a quiet session.
            if self._config.get_terminal_writer().width_of_current_line:
                reporter.line("")
            reporter.write_line(f"rageval: {clean(text, 500)}")


def _no_way(item: CaseItem) -> str:
    taker, advice = "its rag_client fixture", "add"
    if asks_configured_target(item):
        taker, advice = "[tool.rageval.target] client", "write a rag_client fixture with"
    return (
        f"{item.path.name}: the case {item.located.case.item!r} brings documents, and {taker} does "
        f"not take them: {advice} the argument {FIXTURE}, the documents of the session with "
        "rel_path and text"
    )
