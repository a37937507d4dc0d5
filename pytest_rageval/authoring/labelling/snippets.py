"""Choosing the sentences of a chunk that hold the evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.authoring.labelling.anchors import quoted


class SnippetChoice:
    """Sentences of one chunk, some of them picked.

    Args:
        passages: what can be quoted, at least one.
        held: what is quoted already; it may be a part of a sentence, or stand elsewhere.
    """

    def __init__(self, passages: Sequence[str], held: Sequence[str]) -> None:
        self.passages = tuple(passages)
        self._held = tuple(held)
        self.picked = frozenset(
            i for i, passage in enumerate(passages) if any(quoted(h, passage) for h in held)
        )
        """Indices into ``passages``."""
        self._first = self.picked
        self.cursor = min(self.picked, default=0)

    @property
    def changed(self) -> bool:
        """Whether anything was picked or dropped."""
        return self.picked != self._first

    def press(self, key: str) -> None:
        """Take one key: ``up``, ``down``, ``j``, ``k``, ``space`` or the number of a sentence."""
        last = len(self.passages) - 1
        if key in {"down", "j"}:
            self.cursor = min(self.cursor + 1, last)
        elif key in {"up", "k"}:
            self.cursor = max(self.cursor - 1, 0)
        elif key == "space":
            self.picked ^= {self.cursor}
        elif key.isascii() and key.isdigit() and len(key) < 6 and 1 <= int(key) <= last + 1:
            self.cursor = int(key) - 1
            self.picked ^= {self.cursor}

    def snippets(self) -> list[str]:
        """Return what is to be quoted: what was quoted before as far as it stays comes first."""
        new = [
            passage
            for i, passage in enumerate(self.passages)
            if i in self.picked and not any(quoted(held, passage) for held in self._held)
        ]
        return [held for held in self._held if self._stays(held)] + new

    def _stays(self, held: str) -> bool:
        """Tell whether a snippet stays: a sentence with it is picked, or none here has it."""
        holders = {i for i, passage in enumerate(self.passages) if quoted(held, passage)}
        return not holders or bool(holders & self.picked)
