"""Write the sources of the site for Sphinx: ``python -m docs.site FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.site.sources import write_sources

if __name__ == "__main__":
    write_sources(Path(__file__).resolve().parents[2], Path(sys.argv[1]))
