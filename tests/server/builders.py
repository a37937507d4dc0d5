from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.engine import ReferenceEngine
from pytest_rageval.server.requests import parse_ask

NOTES = {
    "work/billing.md": "# Billing\n\nInvoices are sent on the first Monday of each month.\n\n"
    "## Refunds\n\nA refund is paid within fourteen days by bank transfer.\n",
    "work/queue.md": "# Queue\n\nThe retry limit of the ingest queue is seven attempts.\n\n"
    "## Alerts\n\nAn alert is raised when the queue holds over a thousand jobs.\n",
    "home/garden.md": "# Garden\n\nTomatoes are planted in May, after the last frost.\n\n"
    "## Compost\n\nThe compost heap is turned every second week.\n",
    "home/recipes.md": "# Recipes\n\nBread dough rests for twelve hours in the fridge.\n",
    "readme.md": "Notes of a small household and a small company.\n",
}


def write_vault(root: Path, notes: Mapping[str, str | bytes] = NOTES) -> Path:
    for rel_path, text in notes.items():
        path = root / rel_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def make_engine(root: Path, **settings: Any) -> ReferenceEngine:
    return ReferenceEngine(ReferenceConfig(vault=root, **settings))


def ask(engine: ReferenceEngine, question: str, **fields: Any) -> dict[str, Any]:
    query = parse_ask({"question": question, **fields}, engine.config)
    return engine.ask(query, debug=True)


def retrieved(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = response["debug"]["retrieved_chunks"]
    return chunks


def paths(response: Mapping[str, Any]) -> list[str]:
    return [chunk["rel_path"] for chunk in retrieved(response)]
