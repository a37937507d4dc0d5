"""A small, real RAG server over a folder of Markdown, spoken to only over HTTP.

It lets every part of pytest-rageval work with no service and no key. It imports nothing of the
rest of the package and knows nothing of any evaluation set, so it can be wrong. Start it from
`pytest_rageval.server.server`; importing this package alone loads nothing.
"""

from __future__ import annotations
