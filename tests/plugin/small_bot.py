"""A chatbot over twenty notes on the loopback interface, which can be broken in five ways."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.build.http_server import Handler, serving

NAMES = (
    "ada", "bob", "cleo", "dora", "ezra", "fay", "gus", "hana", "ivo", "june",
    "kira", "liam", "mona", "nils", "olga", "pete", "quin", "rosa", "sven", "tara",
)  # fmt: skip
NOTES = {f"{name}.md": f"{name} is a printer in room {n + 100}." for n, name in enumerate(NAMES)}
Fault = Literal["", "one_chunk", "reversed", "answers_all", "slow", "crash", "flaky"]
SECOND = ("cleo", "ezra", "gus")
"""Names whose note comes second."""
REFUSED = "I do not know."


def case(case_id: str, category: str, question: str, *golds: str) -> dict[str, Any]:
    return {
        "id": case_id,
        "question": question,
        "category": category,
        "answerable": bool(golds),
        "gold_supports": [{"rel_path": f"{gold}.md"} for gold in golds],
    }


CASES = (
    *(case(f"fact_{n}", "factual", f"Which room has the printer {n}?", n) for n in NAMES[:7]),
    *(
        case(f"hop_{a}", "multi_hop", f"Are {a} and {b} side by side?", a, b)
        for a, b in zip(NAMES[7:11], NAMES[11:15], strict=True)
    ),
    *(
        case(f"none_{word}", "unanswerable", f"How much does the {word} cost?")
        for word in ("paper", "toner", "cable", "stand")
    ),
)
"""Seven with one gold, four with two, four that nothing answers."""


@dataclass
class SmallBot:
    """Finds the notes whose name a question has, and quotes the first."""

    url: str = ""
    fault: Fault = ""
    asked: Counter[str] = field(default_factory=Counter)

    def reply(self, question: str) -> dict[str, Any]:
        nth = self.asked[question]
        self.asked[question] += 1
        if self.fault == "slow":
            time.sleep(0.6)
        if self.fault == "crash" and "side" in question:
            raise KeyError("embedding")
        words = question.rstrip("?").lower().split()
        found = [name for name in NAMES if name in words]
        order = [*found, *(name for name in NAMES if name not in found)][:5]
        if found and found[0] in SECOND:
            order[:2] = order[1::-1]
        if self.fault == "reversed" or (
            self.fault == "flaky" and nth % 3 == 2 and "printer" in question
        ):
            order.reverse()
        if self.fault == "one_chunk":
            order = order[:1]
        chunks = [{"rel_path": f"{name}.md", "text": NOTES[f"{name}.md"]} for name in order]
        refuses = not found and self.fault != "answers_all"
        n = 2
        return {
            "answer": REFUSED if refuses else " ".join(one["text"] for one in chunks[:n]),
            "abstained": refuses,
            "references": [] if refuses else [{"rel_path": one["rel_path"]} for one in chunks[:n]],
            "debug": {"retrieved_chunks": chunks},
        }


@contextlib.contextmanager
def small_bot() -> Iterator[SmallBot]:
    """Serve a bot until the block ends."""
    bot = SmallBot()

    class Chat(Handler):
        def do_POST(self) -> None:
            import json

            try:
                self.send_json(bot.reply(json.loads(self.body())["question"]))
            except KeyError as error:
                self.send_json({"error": f"KeyError: {error}"}, 500)

    with serving(Chat) as url:
        bot.url = url
        yield bot
