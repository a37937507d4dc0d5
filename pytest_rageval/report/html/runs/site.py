"""All runs as a folder of pages that link to each other, with a badge of the newest one.

The badge: https://shields.io/badges/endpoint-badge
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.trend import run_figures
from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.run.page import PageFrame, report_page
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.report.html.runs.listing import RunList, view_runs
from pytest_rageval.report.html.runs.side_by_side import SideBySide, view_side_by_side
from pytest_rageval.report.html.templating import TEMPLATES, content_policy, page_asset, render_page
from pytest_rageval.runs.documents import encode_text
from pytest_rageval.runs.list import (
    documents_of_runs,
    is_partial,
    run_to_compare_with,
    unusable_folders,
)
from pytest_rageval.runs.read import DOCUMENTS, read_compared, read_run
from pytest_rageval.runs.reviews import NOTES, REVIEWS, reviews_folder
from pytest_rageval.runs.store import RESULTS, SECTIONS, read_json
from pytest_rageval.support.files import named_errors, open_plain, write_file
from pytest_rageval.support.reading import hint
from pytest_rageval.support.text import format_value
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError
from pytest_rageval.values.lenient import part
from pytest_rageval.values.run import StoredRun

_COLOURS: Final = {"pass": "brightgreen", "fail": "red"}
_OTHER: Final = "lightgrey"


def badge_document(runs: Sequence[StoredRun], metric: str | None = None) -> dict[str, Any]:
    """Return the badge, coloured by the gate's verdict.

    Args:
        runs: documents of all runs, oldest first.
        metric: key of the figure to show; None: the verdict.

    Raises:
        ConfigError: no run has the metric.
    """
    known = {
        figure.metric
        for run in runs
        if run.aggregate
        for figure in run_figures(run.aggregate, run.config)
    }
    if metric is not None and metric not in known and known:
        raise ConfigError.of(
            "--badge", "unknown", what=f"metric {metric!r}", **hint(metric, sorted(known))
        )
    complete = [run for run in runs if run.aggregate and not is_partial(run)]
    numbers = complete[-1].aggregate if complete else None
    if numbers is None:
        return _badge(metric or "rageval", "no run", "")
    verdict = complete[-1].verdict or ""
    if metric is None:
        return _badge("rageval", verdict.replace("_", " ") or "unknown", verdict)
    figures = run_figures(numbers, complete[-1].config)
    value = next((f.value for f in figures if f.scope == "overall" and f.metric == metric), None)
    return _badge(
        metric, "no data" if value is None else format_value(value, unit_of(metric)), verdict
    )


def _badge(label: str, message: str, verdict: str) -> dict[str, Any]:
    colour = _COLOURS.get(verdict, _OTHER)
    return {"schemaVersion": 1, "label": label, "message": message, "color": colour}


_KEYS: Final = (("Esc", "out of the search"), ("?", "this list"))
_LIST_KEYS: Final = (
    ("/", "search the runs"),
    ("j k", "next and previous run"),
    ("Enter", "open the run"),
    ("x", "choose the run for a comparison"),
    *_KEYS,
)
_COMPARE_KEYS: Final = (
    ("/", "search the cases"),
    ("j k", "next and previous case"),
    ("Enter", "open the case in its run"),
    ("d", "show or hide the cases that are alike"),
    *_KEYS,
)


def fault_policy() -> str:
    """Return the content security policy of a served page of a fault, which has no script."""
    return content_policy(style=page_asset("design.css"), script="", served=True)


def render_list(view: RunList, links: Links, *, title: str) -> Iterator[str]:
    """Yield the list of all runs in pieces."""
    scripts = ("search.js", "keys.js", "runs/list.js", *(() if links.static else ("runs/tags.js",)))
    return _render("list", scripts, links, view=view, title=title, keys=_LIST_KEYS)


def render_side_by_side(view: SideBySide, links: Links) -> Iterator[str]:
    """Yield the page of two or three runs in pieces."""
    scripts = ("search.js", "keys.js", "runs/compare.js")
    return _render("compare", scripts, links, view=view, keys=_COMPARE_KEYS)


def render_fault(sentence: str, links: Links) -> Iterator[str]:
    """Yield the page that says why another cannot be shown."""
    return _render("fault", (), links, sentence=sentence)


def _render(name: str, scripts: tuple[str, ...], links: Links, **values: Any) -> Iterator[str]:
    # Imported here, since jinja2 is slow to import.

    return render_page(
        f"runs/{name}.html.j2", scripts=scripts, served=not links.static, links=links, **values
    )


MANIFEST: Final = "site.json"
"""File that marks the folder as ours, with the digest of what each page was made of."""
BADGE: Final = "badge.json"
_MADE_BY: Final = "pytest-rageval runs site"
_PAGE: Final = re.compile(r"(?:run|compare)-[A-Za-z0-9][A-Za-z0-9._-]*\.html")
_LINKS: Final = Links(static=True)
_OF_RUN: Final = (*DOCUMENTS, RESULTS, SECTIONS, NOTES)
_BEFORE: Final = 12
"""Earlier runs that the trend of a page shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """Extent of the pages."""

    title: str
    version: str
    """Of the package: another one writes every page again."""
    redact: bool = True
    badge: str | None = None
    """Metric on the badge; None: the verdict of the gate."""
    last: int | None = None
    """Number of the newest runs; None: all."""


@dataclass(slots=True, kw_only=True)
class Site:
    """Pages of a finished site, and the runs that have none."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    """Reason by run."""


def write_site(results_dir: Path, target: Path, options: SiteOptions) -> Site:
    """Write the pages of all runs, those of unchanged runs excepted.

    Raises:
        StorageError: the folder holds something else, or cannot be written.
        ConfigError: no run has the metric of the badge.
    """
    known = _open(target)
    runs = list(documents_of_runs(results_dir))
    unusable = unusable_folders(results_dir)
    runs = [run for run in runs if run.run_id not in unusable]
    badge = badge_document(runs, options.badge)
    runs = runs[-options.last :] if options.last else runs
    site = Site()
    made: dict[str, str] = {}
    try:
        for name, digest, make in _pages(results_dir, runs, options, site.broken):
            if known.get(name) == digest and (target / name).is_file():
                site.unchanged.append(name)
            else:
                try:
                    _write(target / name, make())
                except RagEvalError as error:
                    site.broken[_run_of(name)] = str(error).replace(f"{results_dir}/", "")
                    continue
                site.written.append(name)
            made[name] = digest
    finally:
        # Pages of an interrupted command are not written again by the next.
        _write_manifest(target, {**known, **made})
    whole = [run for run in runs if run.run_id not in site.broken]
    ids = {_run_of(name) for name in made}
    view = view_runs(
        whole,
        {**unusable, **site.broken},
        lambda name: _LINKS.run(name) if name in ids else "",
        redact=options.redact,
    )
    _write(target / _LINKS.home, render_list(view, _LINKS, title=options.title))
    _write(target / BADGE, [json.dumps(badge, indent=2) + "\n"])
    for name in sorted(known.keys() - made.keys()):
        (target / name).unlink(missing_ok=True)
        site.removed.append(name)
    _write_manifest(target, made)
    return site


def _open(target: Path) -> dict[str, str]:
    """Return the digests of the pages that are there, in a folder that is ours.

    Raises:
        StorageError: it is a file, or holds something else.
    """
    with named_errors(target, StorageError):
        target.mkdir(parents=True, exist_ok=True)
        empty = not any(target.iterdir())
    if empty:
        _write_manifest(target, {})
        return {}
    try:
        manifest = read_json(target / MANIFEST)
    except StorageError:
        manifest = {}
    if manifest.get("made_by") != _MADE_BY:
        raise StorageError.of(target, "other_files", found=MANIFEST)
    pages = part(manifest, "pages")
    return {name: str(digest) for name, digest in pages.items() if _PAGE.fullmatch(name)}


def _write_manifest(target: Path, pages: Mapping[str, str]) -> None:
    document = {"schema_version": 1, "made_by": _MADE_BY, "pages": dict(sorted(pages.items()))}
    _write(target / MANIFEST, [json.dumps(document, indent=2) + "\n"])


def _write(path: Path, pieces: Iterable[str]) -> None:
    with named_errors(path, StorageError):
        write_file(path, map(encode_text, pieces))


def _run_of(name: str) -> str:
    return name.partition("-")[2].removesuffix(".html")


# --- pages and what they are made of ---------------------------------------------------------


def _pages(
    results_dir: Path, runs: Sequence[StoredRun], options: SiteOptions, broken: Mapping[str, str]
) -> Iterator[tuple[str, str, Callable[[], Iterator[str]]]]:
    """Yield name, digest and maker of every page of a run.

    Args:
        results_dir: folder of all runs.
        runs: oldest first.
        options: extent of the pages.
        broken: runs that could not be read so far, which no other is compared with.
    """
    stored = [run for run in runs if (run.folder / RESULTS).is_file()]
    facts = {run.run_id: _digest_of(run) for run in runs}
    frame_of = sha256(repr((options.version, options.redact, _templates())).encode()).hexdigest()
    ids = frozenset(run.run_id for run in stored)
    for place, run in enumerate(stored):
        base = run_to_compare_with(run, [one for one in stored if one.run_id not in broken])
        history = [
            facts[one.run_id] for one in runs if one in stored[max(place - _BEFORE, 0) : place]
        ]
        made_of = [frame_of, facts[run.run_id], facts[base.run_id] if base else "", *history]
        digest = sha256("\n".join(made_of).encode()).hexdigest()
        page = _RunPage(results_dir, run, base, options, ids)
        yield _LINKS.run(run.run_id), digest, page.report
        if base is not None:
            yield _LINKS.compare(base.run_id, [run.run_id]), digest, page.comparison


@dataclass(frozen=True, slots=True)
class _RunPage:
    """Makes the pages of one run."""

    results_dir: Path
    run: StoredRun
    base: StoredRun | None
    options: SiteOptions
    ids: frozenset[str]

    def report(self) -> Iterator[str]:
        """Yield the page of the run."""
        base = self.base
        baseline = (
            None if base is None else read_compared(base.folder, self.results_dir, texts=False)
        )
        return report_page(
            read_run(self.run.folder, tags=self.run.tags, texts=False),
            baseline=baseline,
            options=ReportOptions(redact=self.options.redact, address=self._address),
            frame=PageFrame(
                home=_LINKS.home,
                baseline="" if base is None else base.run_id,
                compare="" if base is None else _LINKS.compare(base.run_id, [self.run.run_id]),
            ),
        )

    def comparison(self) -> Iterator[str]:
        """Yield the page of the run beside its baseline or the run before."""
        assert self.base is not None
        first, second = (
            read_compared(run.folder, self.results_dir, texts=False)
            for run in (self.base, self.run)
        )
        view = view_side_by_side([compare_runs(first, second)], _LINKS, redact=self.options.redact)
        return render_side_by_side(view, _LINKS)

    def _address(self, run_id: str) -> str:
        return _LINKS.run(run_id) if run_id in self.ids else ""


def _digest_of(run: StoredRun) -> str:
    """Return a digest of the files of a run that its pages are made of."""
    digest = sha256(run.run_id.encode())
    reviews = reviews_folder(run.folder).glob("*.jsonl")
    for name in (*_OF_RUN, *sorted(f"{REVIEWS}/{path.name}" for path in reviews)):
        try:
            with open_plain(run.folder / name) as file:
                content = file.read()
        except OSError:
            content = b""
        digest.update(f"\n{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _templates() -> str:
    digest = sha256()
    for path in sorted(TEMPLATES.rglob("*.*")):
        if path.suffix in {".j2", ".css", ".js"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()
