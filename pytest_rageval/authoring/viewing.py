"""The runs of a project as pages need them, and the requests of ``rageval view``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.authoring.loopback import json_body, refused
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.run.page import PageFrame, report_page, shown_note
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.runs.listing import view_runs
from pytest_rageval.report.html.runs.side_by_side import view_side_by_side
from pytest_rageval.report.html.runs.site import (
    fault_policy,
    render_fault,
    render_list,
    render_side_by_side,
)
from pytest_rageval.runs.list import ran_at, run_to_compare_with, unusable_folders, usable_runs
from pytest_rageval.runs.read import case_key, read_compared, read_documents, read_run
from pytest_rageval.runs.reviews import now, put_note
from pytest_rageval.runs.store import RESULTS, iterate_records
from pytest_rageval.runs.tags import read_tags, remove_tag, tags_by_run, write_tag
from pytest_rageval.values.errors import RagEvalError, StorageError
from pytest_rageval.values.run import CaseNote, StoredRun

_DOCUMENTS: Final = ("config.json", "metrics.json", "gate.json", "results.jsonl")
_MOST: Final = 3

_Stamp = tuple[tuple[int, int] | None, ...]


class ProjectRuns:
    """All runs below a folder, by id; ids that are not listed are refused, whatever they name.

    Args:
        results_dir: folder of all runs.
        title: name of the project.
        on_tagged: called with the ids of runs whose tags changed.
    """

    def __init__(
        self, results_dir: Path, *, title: str, on_tagged: Callable[..., None] | None = None
    ) -> None:
        self._on_tagged = on_tagged or (lambda *_: None)
        self._results_dir = results_dir
        self._title = title
        self._known: dict[str, tuple[_Stamp, StoredRun]] = {}
        self._names: dict[str, tuple[object, frozenset[tuple[str, str, int]]]] = {}
        self._lock = Lock()
        self._links = Links()

    def documents(self) -> list[StoredRun]:
        """Return the documents of every run, oldest first, read again where files changed."""
        tags = tags_by_run(self._results_dir)
        with self._lock:
            found = [self._read(f, tags.get(f.name, ())) for f in usable_runs(self._results_dir)]
            self._known = {run.run_id: self._known[run.run_id] for run in found}
        return sorted(found, key=lambda run: (ran_at(run), run.run_id))

    def _read(self, folder: Path, tags: tuple[str, ...]) -> StoredRun:
        stamp = tuple(_stamp(folder / name) for name in _DOCUMENTS)
        known = self._known.get(folder.name)
        if known is None or known[0] != stamp or known[1].tags != tags:
            known = stamp, read_documents(folder, tags=tags, groups=False)
            self._known[folder.name] = known
        return known[1]

    def folder(self, run_id: str) -> Path:
        """Return the folder of a listed run.

        Raises:
            StorageError: there is no such run.
        """
        for folder in usable_runs(self._results_dir):
            if folder.name == run_id:
                return folder
        raise StorageError.of(f"run {run_id!r}", "not_found")

    def list_page(self) -> Iterator[str]:
        """Yield the list of all runs."""
        view = view_runs(self.documents(), unusable_folders(self._results_dir), self._links.run)
        return render_list(view, self._links, title=self._title)

    def run_page(self, run_id: str, base: str | None) -> Iterator[str]:
        """Yield the page of a run.

        Args:
            run_id: of the run.
            base: id of the run to compare with; None: the one that a reader most likely wants;
                empty: none.

        Raises:
            StorageError: there is no such run, or it cannot be read.
        """
        folder, runs = self.folder(run_id), self.documents()
        own = next(run for run in runs if run.run_id == run_id)
        baseline = self._compared(base) if base else None
        assumed = run_to_compare_with(own, runs) if base is None else None
        if assumed is not None:
            with suppress(StorageError):  # a damaged one is no reason to refuse this one
                baseline = self._compared(assumed.run_id)
        stored = read_run(folder, tags=own.tags, texts=False)
        return report_page(
            stored,
            baseline=baseline,
            options=ReportOptions(address=self._links.run),
            frame=self._frame(own, runs, baseline),
        )

    def _frame(
        self, own: StoredRun, runs: Sequence[StoredRun], baseline: StoredRun | None
    ) -> PageFrame:
        others = [run.run_id for run in reversed(runs) if run.run_id != own.run_id]
        chosen = "" if baseline is None else baseline.run_id
        return PageFrame(
            home=self._links.home,
            compare=self._links.compare(chosen, [own.run_id]) if chosen else "",
            choices=tuple(others),
            baseline=chosen,
            served=True,
        )

    def compare_page(self, run_ids: Sequence[str], base: str | None) -> Iterator[str]:
        """Yield the page of two or three runs.

        Args:
            run_ids: of the runs.
            base: the one that the others are compared with; None: the oldest.

        Raises:
            StorageError: too few or too many runs are named, or one cannot be read.
        """
        wanted = {*run_ids, *filter(None, [base])}
        if not 1 < len(wanted) <= _MOST:
            raise StorageError.of(
                "compare", "type", found=f"{len(wanted)} runs", expected="two or three"
            )
        order = [run.run_id for run in self.documents()]
        for run_id in wanted.difference(order):
            self.folder(run_id)
        chosen = [run_id for run_id in order if run_id in wanted]
        first = base or chosen[0]
        before = self._compared(first)
        found = [compare_runs(before, self._compared(one)) for one in chosen if one != first]
        return render_side_by_side(view_side_by_side(found, self._links), self._links)

    def _compared(self, run_id: str) -> StoredRun:
        return read_compared(self.folder(run_id), self._results_dir, texts=False)

    def note(self, run_id: str, note: CaseNote) -> list[dict[str, str]]:
        """Keep a note on a case, or remove it with an empty text; return the notes on the case.

        Raises:
            StorageError: there is no such run or case, or the note cannot be written.
        """
        folder, place = self.folder(run_id), (note.file, note.case_id, note.repeat)
        if place not in self._cases(folder):
            raise StorageError.of(f"case {note.case_id!r}", "not_found")
        found = put_note(folder, note)
        return [shown_note(one) for one in found if (one.file, one.case_id, one.repeat) == place]

    def _cases(self, folder: Path) -> frozenset[tuple[str, str, int]]:
        """Return the cases of a run, read again where its records changed."""
        stamp = _stamp(folder / RESULTS)
        known = self._names.get(folder.name)
        if known is None or known[0] != stamp:
            known = stamp, frozenset(case_key(record) for _, record in iterate_records(folder))
            self._names[folder.name] = known
        return known[1]

    def give_tag(self, run_id: str, tag: str) -> None:
        """Give a run a tag.

        Raises:
            StorageError: there is no such run, or the tag is not valid or cannot be written.
        """
        before = write_tag(self._results_dir, tag, self.folder(run_id).name)
        self._on_tagged(*filter(None, dict.fromkeys((run_id, before))))

    def take_tag(self, run_id: str, tag: str) -> None:
        """Take a tag away from a run.

        Raises:
            StorageError: the run does not have it any more, or it cannot be removed.
        """
        if read_tags(self._results_dir).get(tag) != run_id:
            raise StorageError.of(f"tag {tag!r}", "tag_moved")
        remove_tag(self._results_dir, tag)
        self._on_tagged(run_id)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def begun(pages: Iterator[str]) -> Iterator[str]:
    """Return an iterator of which the first piece is made already, so that its errors come now."""
    first = next(pages, "")
    return chain((first,), pages)


_Asked = TypeVar("_Asked")
_MAX_BODY: Final = 100_000
_PIECE: Final = 1 << 16
"""Characters that are sent together: a page is made in thousands of pieces."""
_OFF: Final = "frame-ancestors 'none'"
"""The rest of the policy is in each page, since it names the hashes of its own script."""


def create_app(runs: ProjectRuns, *, start: str = "./") -> Starlette:
    """Build the app, which sends a browser that it admits to the page ``start``."""

    async def front(request: Request) -> Response:
        if "token" in request.query_params:
            return _forward(start)
        return await _page(runs.list_page)

    async def run(request: Request) -> Response:
        name, base = request.path_params["run_id"], request.query_params.get("base")
        return await _page(lambda: runs.run_page(name, base))

    async def compare(request: Request) -> Response:
        given, base = request.query_params.getlist("run"), request.query_params.get("base")
        return await _page(lambda: runs.compare_page(given, base or None))

    async def tag(request: Request) -> Response:
        def act(asked: _Tag) -> dict[str, Any]:
            (runs.take_tag if asked.remove else runs.give_tag)(asked.run, asked.tag)
            return {}

        return await _change(request, _Tag, act)

    async def note(request: Request) -> Response:
        def act(asked: _Note) -> dict[str, Any]:
            given = CaseNote(
                file=asked.file, case_id=asked.id, repeat=asked.repeat,
                text=asked.text.strip(), author=asked.author.strip(), time=now(),
            )  # fmt: skip
            return {"notes": runs.note(asked.run, given)}

        return await _change(request, _Note, act)

    routes = [
        Route("/", front, methods=["GET"]),
        Route("/run-{run_id}", run, methods=["GET"]),
        Route("/compare", compare, methods=["GET"]),
        Route("/tag", tag, methods=["POST"]),
        Route("/note", note, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPStatus.NOT_FOUND: _not_found})


async def _not_found(request: Request, error: Exception) -> Response:
    return _fault("There is no such page here.", HTTPStatus.NOT_FOUND)


def _forward(target: str) -> Response:
    # Not a redirection: a browser does not send the strict cookie on one that a link of another
    # page began, such as of a terminal in the browser.
    html = (
        '<!doctype html><html lang="en"><title>rageval</title>'
        f'<meta http-equiv="refresh" content="0;url={escape(target)}">'
        f'<a href="{escape(target)}">The runs</a></html>'
    )
    return HTMLResponse(html, headers={"Content-Security-Policy": f"default-src 'none'; {_OFF}"})


# --- pages -------------------------------------------------------------------------------------


async def _page(make: Callable[[], Iterator[str]]) -> Response:
    """Answer with a page, which is sent while it is made."""
    try:
        pieces = await run_in_threadpool(lambda: begun(make()))
    except RagEvalError as error:
        return _fault(str(error), HTTPStatus.NOT_FOUND)
    except Exception as error:  # the files of a run may hold anything
        return _fault(f"It could not be made: {type(error).__name__}: {error}")
    headers = {"Content-Security-Policy": _OFF}
    return StreamingResponse(_joined(pieces), media_type="text/html", headers=headers)


def _joined(pieces: Iterator[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size > _PIECE:
                yield "".join(held).encode("utf-8", "backslashreplace")
                held, size = [], 0
    except Exception as error:  # a part is shown by now, so that no other answer is possible
        reason = escape(visible(f"{type(error).__name__}: {error}"))
        held.append(f"<p>The page could not be finished: {reason}</p>")
    yield "".join(held).encode("utf-8", "backslashreplace")


def _fault(sentence: str, status: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR) -> Response:
    page = "".join(render_fault(sentence, Links()))
    headers = {"Content-Security-Policy": f"{fault_policy()}; {_OFF}"}
    return HTMLResponse(page, status_code=status, headers=headers)


# --- changes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tag:
    run: str
    tag: str
    remove: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    run: str
    file: str
    id: str
    repeat: int
    text: str
    author: str


async def _change(
    request: Request, kind: type[_Asked], act: Callable[[_Asked], dict[str, Any]]
) -> Response:
    """Answer a change that a page asks for: a JSON object in, one out."""
    asked = await json_body(request, _MAX_BODY, kind)
    if isinstance(asked, Response):
        return asked
    try:
        return JSONResponse(await run_in_threadpool(act, asked))
    except RagEvalError as error:
        return refused(HTTPStatus.CONFLICT, str(error))
    except Exception as error:  # the files of a run may hold anything
        sentence = f"it could not be done: {type(error).__name__}: {error}"
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)
