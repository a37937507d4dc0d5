"""Objects that are closed after use."""

from __future__ import annotations

from typing import Self


class Closing:
    """Context manager over itself, which calls ``close`` at its end."""

    __slots__ = ()

    def close(self) -> None:
        """Free what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
