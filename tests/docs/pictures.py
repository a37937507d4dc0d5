"""Draws the pictures of the README and the docs: ``python -m tests.docs.pictures [FOLDER]``.

They are taken in headless Chromium from the pages of real runs of the example cases.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from tests.build.browser import chromium

ROOT: Final = Path(__file__).parents[2]
IMAGES: Final = ROOT / "docs" / "images"


class Picture(NamedTuple):
    """One picture: its file, the page and the address in it, and the height of the window."""

    name: str
    run: str
    address: str
    height: int


WIDTH: Final = 1280
PICTURES: Final = (
    Picture("report.png", "whole", "#overview", 560),
    Picture("report-change.png", "without-guides", "#overview", 760),
    Picture("report-cases.png", "without-guides", "#outcome=missed&outcome=flawed", 560),
    Picture("report-case.png", "without-guides", "#case-multi_hop_002", 900),
    Picture("runs.png", "list", "", 840),
    Picture("runs-compared.png", "compare", "", 760),
)


def draw(folder: Path) -> None:
    """Evaluate the example, whole and with less to find, and take the pictures."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        pages = _pages(Path(scratch) / "example")
        for picture in PICTURES:
            tab = browser.new_page(viewport={"width": WIDTH, "height": picture.height})
            tab.goto(f"{pages[picture.run].as_uri()}{picture.address}")
            tab.wait_for_selector("body[data-view], #run-table, .answers")
            tab.screenshot(path=folder / picture.name)
            tab.close()


def _pages(project: Path) -> dict[str, Path]:
    """Return the pages by run; the second is compared with the first."""
    ignored = shutil.ignore_patterns("results", "cache")
    shutil.copytree(ROOT / "evals", project / "evals", ignore=ignored)
    for name in ("pyproject.toml", "thresholds.toml"):
        shutil.copy(ROOT / name, project / name)
    results = project / "evals" / "results"
    _run(project, "-m", "pytest", "evals", "-q", "--rageval-run-id", "whole")
    shutil.rmtree(project / "evals" / "vault" / "guides")
    _run(project, "-m", "pytest", "evals", "-q", "--rageval-run-id", "without-guides")
    _run(project, "-m", "pytest_rageval.cli.main", "report", "--baseline", "whole")
    _run(project, "-m", "pytest_rageval.cli.main", "runs", "tag", "whole", "main")
    _run(project, "-m", "pytest_rageval.cli.main", "runs", "site", "-o", "site", "--full-text")
    pages = {run: results / run / "report.html" for run in ("whole", "without-guides")}
    site = {"list": "index.html", "compare": "compare-without-guides.html"}
    return {**pages, **{name: project / "site" / file for name, file in site.items()}}


def _run(project: Path, *arguments: str) -> None:
    left_out = {name for name in os.environ if name.startswith(("RAGEVAL_", "PYTEST_"))}
    environment = {name: text for name, text in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
