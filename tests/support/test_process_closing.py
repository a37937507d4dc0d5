"""Closing of objects at the end of a with-statement."""

from __future__ import annotations

from pytest_rageval.support.process import Closing


class Door(Closing):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def close(self) -> None:
        self.calls.append("close")


def test_the_end_of_a_block_closes_what_it_was_entered_with() -> None:
    door = Door()
    with door as entered:
        assert entered is door
        assert door.calls == []
    assert door.calls == ["close"]
