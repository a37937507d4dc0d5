"""The terminal app by its pilot."""

from __future__ import annotations

import asyncio

from textual.events import Key
from textual.widgets import Static

from pytest_rageval.authoring.keyed.app import KeyApp
from pytest_rageval.authoring.keyed.session import EARLY
from pytest_rageval.authoring.review.screen import screen_of
from pytest_rageval.authoring.review.session import ReviewSession
from tests.authoring.review.builders import Written, session_of


def app_of(session: ReviewSession) -> KeyApp:
    """The app over a session."""
    return KeyApp(session, lambda: screen_of(session))


def drawn(app: KeyApp) -> str:
    """Texts of the app, without styles."""
    with app.console.capture() as captured:
        for name in ("head", "body", "said", "keys"):
            app.console.print(app.query_one(f"#{name}", Static).content)
    return captured.get()


def test_answers_are_read_by_keyboard() -> None:
    written = Written()
    app = app_of(session_of(written=written))

    async def work() -> list[str]:
        shown = []
        async with app.run_test(size=(100, 40)) as pilot:

            async def go(*keys: str) -> None:
                await pilot.press(*keys)
                while app.waiting:
                    await pilot.pause(0.01)
                shown.append(drawn(app))

            await go("p")
            await go("f", *"late", "enter")
            await go("c", *"dates", "enter")
            await go("g")
            await go("escape", "?")
            await pilot.press("q")
            await pilot.pause(0.1)
        return shown

    shown = asyncio.run(work())
    assert app.failure is None
    assert "Question 1?" in shown[0]
    assert "The text of A." in shown[0]
    assert "gold 1" in shown[0]
    assert "dates" in shown[2]
    assert "late" in shown[3]
    assert "95% CI" in shown[3]
    assert "take the verdict back" in shown[4]
    reviews = [line.review for line in written.lines if line.review]
    assert [(one.case_id, one.verdict, one.note, one.category) for one in reviews] == [
        ("c-0", "pass", "", ""),
        ("c-1", "fail", "", ""),
        ("c-1", "fail", "late", ""),
        ("c-1", "fail", "late", "dates"),
    ]


def test_keys_act_on_no_answer_that_is_not_on_the_screen() -> None:
    written = Written()
    app = app_of(session_of(written=written))

    async def work() -> tuple[str, str]:
        async with app.run_test(size=(100, 40)) as pilot:
            while app.waiting:
                await pilot.pause(0.01)
            for key in ("p", "f", "x"):  # the last two before the second answer is shown
                app.post_message(Key(key, key))
            await pilot.pause(0.3)
            shown = drawn(app)
            for n in range(9):  # a key that is held
                held = Key("s", "s")
                held.time = 0.03 * n
                app.post_message(held)
            while app.waiting or "Question 2?" not in drawn(app):
                await pilot.pause(0.01)
            return shown, drawn(app)

    early, held = asyncio.run(work())
    assert EARLY in early
    assert "Question 1?" in early
    assert "Question 2?" in held
    assert [line.review.verdict for line in written.lines if line.review] == ["pass", "skip"]


def test_an_error_of_the_session_ends_the_app_and_is_kept() -> None:
    session = session_of()
    app = app_of(session)

    def broken(key: str) -> None:
        raise RuntimeError(key)

    session.press = broken  # type: ignore[method-assign]

    async def work() -> None:
        async with app.run_test() as pilot:
            while app.waiting:
                await pilot.pause(0.01)
            await pilot.press("p")
            await pilot.pause(0.2)

    asyncio.run(work())
    assert isinstance(app.failure, RuntimeError)
