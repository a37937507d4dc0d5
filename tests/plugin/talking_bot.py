"""A chatbot of several turns on the loopback interface, which can be broken in four ways."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.build.http_server import Handler, serving

NAMES: Final = ("ada", "bob", "cleo", "dora")
NOTES: Final = {
    f"{name}-{word}.md": f"The printer {name} {text} {number + n}."
    for n, name in enumerate(NAMES)
    for word, text, number in (
        ("room", "stands in room", 100),
        ("cost", "was bought for the sum of", 300),
        ("care", "is looked after by team", 500),
    )
}
Fault = Literal["", "forgets", "stale", "errors", "mixes"]
"""It looks for the words of turn 2 alone; answers turn 3 from the passage of turn 1; replies to
turn 2 with an error; goes on in each session with the topic of another that it opened with."""
FOLLOW_UPS: Final = {"cost": "And what was it bought for?", "care": "Which team is it in?"}


def turn(name: str, word: str, question: str) -> dict[str, Any]:
    text = NOTES[f"{name}-{word}.md"]
    return {
        "question": question,
        "gold_supports": [{"rel_path": f"{name}-{word}.md"}],
        "expected_answer": text,
        "expected_key_facts": [text],
    }


def talk(name: str) -> dict[str, Any]:
    """A conversation of three turns, of which two name the printer by a pronoun."""
    turns = [turn(name, "room", f"Which room has the printer {name}?")]
    for word, question in FOLLOW_UPS.items():
        full = question.replace("it ", f"the printer {name} ")
        turns.append({**turn(name, word, question), "standalone": full})
    return {"id": f"talk_{name}", "category": "talk", "turns": turns}


@dataclass
class TalkingBot:
    """Finds the note of the printer that a question or the conversation before it names."""

    url: str = ""
    fault: Fault = ""
    together: int = 1
    """Sessions that open at once: the first is answered when the last has asked."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests."""
    _topics: dict[str, str] = field(default_factory=dict)
    _opening: list[str] = field(default_factory=list)
    _opened: threading.Condition = field(default_factory=threading.Condition)

    def reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        question: str = body["question"]
        word = "cost" if "bought" in question else "care" if "team" in question else "room"
        if self.fault == "errors" and word == "cost":
            raise KeyError("memory")
        topic = self._topic(body, forgets=self.fault == "forgets" and word == "cost")
        found = [f"{topic}-{word}.md"] if topic else [f"{name}-room.md" for name in NAMES[::-1]]
        answer = NOTES[found[0]]
        if self.fault == "stale" and word == "care":
            answer = NOTES[f"{topic}-room.md"]
        chunks = [{"rel_path": path, "text": NOTES[path]} for path in found]
        return {"answer": answer, "debug": {"retrieved_chunks": chunks}}

    def _topic(self, body: Mapping[str, Any], *, forgets: bool) -> str:
        session = body.get("session", "")
        said = [body["question"]]
        said += [m["content"] for m in body.get("history", [])[::-1] if m["role"] == "user"]
        named = [name for text in said[: 1 if forgets else None] for name in _named(text)]
        if named and session:
            self._open(session, named[0])
        return named[0] if named else "" if forgets else self._topics.get(session, "")

    def _open(self, session: str, topic: str) -> None:
        with self._opened:
            self._topics[session] = topic
            self._opening.append(session)
            if len(self._opening) < self.together:
                self._opened.wait_for(lambda: session not in self._opening, timeout=30)
                return
            if self.fault == "mixes":
                by_topic = {self._topics[one]: one for one in self._opening}
                for name in by_topic:  # ada with cleo, bob with dora
                    self._topics[by_topic.get(NAMES[NAMES.index(name) - 2], "")] = name
            self._opening.clear()
            self._opened.notify_all()


def _named(text: str) -> Sequence[str]:
    return [name for name in NAMES if name in text.rstrip("?.").split()]


def as_ragflow(bot: TalkingBot, sessions: dict[str, list[Any]], body: Any) -> dict[str, Any]:
    """Answer as RAGFlow does: by the last message after those of the session, or by all sent.

    It opens a session for a request without one, and refuses one that it has not opened.
    """
    messages, session = body["messages"], body.get("session_id") or f"ragflow-{len(sessions)}"
    if body.get("session_id") not in {None, *sessions}:
        return {"code": 102, "message": "Session not found!"}
    said = sessions.setdefault(session, [])
    said[:] = messages if body.get("pass_all_history_messages") else [*said, messages[-1]]
    found = bot.reply({"question": said[-1]["content"], "history": said[:-1]})
    said.append({"role": "assistant", "content": found["answer"]})
    chunks = [
        {"id": one["rel_path"], "document_name": one["rel_path"], "content": one["text"]}
        for one in found["debug"]["retrieved_chunks"]
    ]
    data = {"answer": found["answer"], "reference": {"chunks": chunks}, "session_id": session}
    return {"code": 0, "message": "", "data": data}


@contextlib.contextmanager
def talking_bot() -> Iterator[TalkingBot]:
    """Serve a bot until the block ends, with the API of RAGFlow at its path."""
    bot = TalkingBot()
    sessions: dict[str, list[Any]] = {}

    class Chat(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.body())
            bot.asked.append(body)
            try:
                ragflow = self.path == "/api/v1/chat/completions"
                self.send_json(as_ragflow(bot, sessions, body) if ragflow else bot.reply(body))
            except KeyError as error:
                self.send_json({"error": f"KeyError: {error}"}, 500)

    with serving(Chat) as url:
        bot.url = url
        yield bot
