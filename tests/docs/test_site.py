"""The site has every page, every link leads somewhere, and its reference is that of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from docs.site.links import Site
from docs.site.sources import write_sources
from pytest_rageval.cli.main import COMMANDS
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.project.options import OPTIONS
from tests.docs.examples import DOCS

ROOT = DOCS.parent


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "sources"
    write_sources(ROOT, folder)
    return folder


def test_every_metric_has_a_page(sources: Path) -> None:
    pages = {path.read_text(encoding="utf-8").split("`")[1] for path in sources.glob("metrics/*")}
    assert pages >= {*BUILT_IN.cases, "pass_rate", "latency_ms.p95"}
    index = (sources / "reference/metrics.md").read_text(encoding="utf-8")
    assert {
        page.removesuffix(".md") for page in re.findall(r"^\| \[.*?/metrics/(.+?)\)", index, re.M)
    } == {path.stem for path in sources.glob("metrics/*")}


def test_every_setting_and_command_is_in_the_reference(sources: Path) -> None:
    settings = (sources / "reference/settings.md").read_text(encoding="utf-8")
    names = [n for one in OPTIONS for n in (one.flag, one.env) if n]
    assert len(names) > 50
    assert [name for name in names if f"`{name}`" not in settings] == []
    commands = (sources / "reference/commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"### rageval {name}\n" not in commands] == []


def test_the_reference_has_the_default_of_every_setting_that_has_one(sources: Path) -> None:
    page = (sources / "reference/settings.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for key, default in {
        "target.connect_timeout": "10",
        "target.path": "/api/v1/ask?debug=true",
        "judge.temperature": "0",
        "judge.retries": "4",
        "matching.snippets": "off",
        "testpaths": "evals",
        "k": "5",
    }.items():
        assert rows[key].count("(default: ") == 1
        assert f" (default: {default}) |" in rows[key]
    assert "(default: " not in rows["target.url"] + rows["no_report"] + rows["target.vars"]


def test_the_navigation_begins_with_the_five_commands(sources: Path) -> None:
    tree = (sources / "index.md").read_text(encoding="utf-8").partition(":hidden:\n\n")[2]
    listed = tree.splitlines()
    assert [line.partition(" <")[0] for line in listed[:5]] == [
        "rageval init",
        "pytest evals/",
        "rageval explain",
        "rageval compare",
        "rageval gate",
    ]
    assert all((sources / f"{line.lstrip('/')}.md").is_file() for line in listed[5:-1])


def test_llms_txt_lists_pages_as_the_site_has_them(sources: Path) -> None:
    text = (sources / "extra/llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# pytest-rageval\n\n> ")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 100
    assert {"reference/settings.html", "recipes/presets.html", "metrics/latency_ms-p95.html"} <= {
        *links
    }
    assert [link for link in links if ".md" in link or link.startswith("..")] == []


def test_links_are_moved_and_fenced_blocks_are_not() -> None:
    site = Site(
        pages={"docs/a.md": "a.md", "README.md": "project/readme.md"}, metrics={"ab": "a-b"}
    )
    text = "[r](../README.md#x) [m](metrics.md#ab) [f](../tests/x.py) [w](https://e.org)\n"
    fence = "```text\n[r](../README.md)\n```"
    assert (
        site.moved(text + fence, "docs/a.md")
        == ("[r](/project/readme.md#x) [m](/metrics/a-b.md) f (`tests/x.py`) [w](https://e.org)\n")
        + fence
    )


class _Links(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in {"href", "src"} and value and tag != "link":
                self.links.append(value)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_without_a_dead_link(
    sources: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            sources,
            tmp_path,
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = {
        path: _Links(path.read_text(encoding="utf-8"))
        for path in tmp_path.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(pages) > 130
    dead = []
    for path, page in pages.items():
        for link in page.links:
            target, fragment = urldefrag(re.sub(r"\?v=\w+", "", link))
            if re.match(r"[a-z]+:", target):
                continue
            place = (path.parent / unquote(target)).resolve() if target else path
            if not place.exists():
                dead.append(f"{path.name}: {link}")
            elif fragment and place in pages and unquote(fragment) not in pages[place].anchors:
                dead.append(f"{path.name}: {link}")
    assert dead == []
