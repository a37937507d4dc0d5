"""Sources of the site: the pages of the repository, and those written from the code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from docs.site.links import METRICS, Site, slug
from docs.site.metric_pages import metric_groups, overview
from docs.site.recipes import recipes_page
from docs.site.reference import PAGES, reference_pages
from docs.site.search import scorer, with_words

_PROJECT = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Pages outside docs/, and their places in the site."""
_INDEX = "docs/index.md"
_RECIPES = "recipes/presets.md"
_METRICS = {"metrics": "Metrics one by one: definition, population, empty case, source, example"}
_BY_HAND = re.compile(r"^`make docs` builds these pages as a site.*?\n\n", re.DOTALL | re.MULTILINE)
"""What the index says of the reference for those who read it as a file."""
_ROW = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)#]+\.md)\)", re.MULTILINE)
_MADE = {"docs/site/metrics.toml": "reference/metrics.md", "docs/site/recipes.toml": _RECIPES}
"""Files whose texts become a page with what the package declares."""


def write_sources(root: Path, folder: Path) -> None:
    """Write the sources of the site to a new folder.

    Args:
        root: root of the repository.
        folder: folder to write; an older one is replaced.

    Raises:
        ValueError: the folder holds something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "extra/llms.txt").is_file():
        raise ValueError(f"{folder}: not empty, and no sources of the site")
    shutil.rmtree(folder, ignore_errors=True)
    names = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    texts = {name: (root / name).read_text(encoding="utf-8") for name in [*names, *_PROJECT]}
    texts[_INDEX] = _BY_HAND.sub("", texts[_INDEX])
    head, groups = metric_groups()
    entries = [entry for group in groups for entry in group.entries]
    site = Site(
        pages={**{name: name.removeprefix("docs/") for name in names}, **_PROJECT, **_MADE},
        metrics={slug(entry.key): entry.name for entry in entries},
    )
    pages = {site.pages[name]: site.moved(text, name) for name, text in texts.items()}
    pages |= {f"metrics/{one.name}.md": site.moved(one.text, METRICS) for one in entries}
    generated = reference_pages()
    pages |= generated.pages
    pages[_RECIPES] = site.moved(recipes_page(), "docs/recipes/presets.md")
    listed = site.moved(overview(head, groups), METRICS)
    pages["reference/metrics.md"] = listed + _tree([f"/metrics/{one.name}" for one in entries])
    reference = "".join(
        f"- [{title}](/reference/{name}.md):{content}.\n"
        for name, (title, _, content) in (
            (n, one.partition(":")) for n, one in {**_METRICS, **PAGES}.items()
        )
    )
    pages |= _sections(_with_reference(pages["index.md"], reference))
    pages |= dict(with_words(pages))
    for name, text in {**pages, "scorer.js": scorer()}.items():
        _write(folder / name, text)
    lists = {
        "Metrics, one by one": {f"metrics/{one.name}.md": f"`{one.key}`" for one in entries},
    }
    index = texts[_INDEX].replace("(site/recipes.toml)", f"({_RECIPES})")
    llms = llms_text(_with_reference(index, reference.replace("(/", "(")), lists)
    for name, text in {**generated.files, "llms.txt": llms}.items():
        _write(folder / "extra" / name, text)
    shutil.copytree(root / "docs" / "images", folder / "images")
    shutil.copy(root / "docs" / "site" / "conf.py", folder / "conf.py")


def _with_reference(text: str, rows: str) -> str:
    """Put rows below the heading of the reference."""
    return re.sub(r"^## Reference\n\n.+\n\n", lambda found: found[0] + rows, text, flags=re.M)


def _sections(text: str) -> dict[str, str]:
    """Return the index with the pages of its first section, and a page for each other section."""
    head, first, *others = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    pages, lines = {}, []
    for part in others:
        title, _, body = part.removeprefix("## ").partition("\n")
        name = f"sections/{title.lower().replace(' ', '-')}.md"
        own = sorted(_PROJECT.values()) if title == "The project" else []
        pages[name] = f"# {title}\n{body}" + _tree(
            dict.fromkeys(
                [*_listed(body).values(), *(f"/{one.removesuffix('.md')}" for one in own)]
            )
        )
        about = body.strip().partition("\n- [")[0].strip().partition("\n\n")[0]
        lines.append(f"- [{title}](/{name}): {' '.join(about.split())}\n")
    core = [f"{title} <{path}>" for title, path in _listed(first).items()]
    rest = [f"/{name.removesuffix('.md')}" for name in pages]
    pages["index.md"] = head + first + "## More\n\n" + "".join(lines) + _tree([*core, *rest])
    return pages


def _listed(rows: str) -> dict[str, str]:
    """Return the pages of rows: title and path."""
    found = {one["title"].strip("`"): one["target"] for one in _ROW.finditer(rows)}
    return {title: f"/{path.lstrip('/').removesuffix('.md')}" for title, path in found.items()}


def _tree(pages: Iterable[str]) -> str:
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def llms_text(index: str, lists: Mapping[str, Mapping[str, str]]) -> str:
    """Return the pages of the site as ``llms.txt``: links with a line about each.

    Args:
        index: the page that lists most of them.
        lists: further pages and their titles, by heading.
    """
    for heading, pages in lists.items():
        rows = "".join(f"- [{title}]({path})\n" for path, title in pages.items())
        index += f"\n## {heading}\n\n{rows}"
    text = re.sub(r"\((?![a-z]+:|\.\.)([^)#]+)\.md(#[^)]*)?\)", r"(\1.html\2)", index)
    return re.sub(r"\(\.\./([\w/]+)\.md\)", lambda found: f"({_html(found[1])})", text)


def _html(name: str) -> str:
    return _PROJECT[f"{name}.md"].removesuffix(".md") + ".html"
