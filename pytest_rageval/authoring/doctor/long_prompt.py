"""A prompt with a mark at each end: does the judge see all of it? Pure.

Servers with a small context cut what is too long without a word, mostly at its beginning, and a
judge that does not see the instructions still answers.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from pytest_rageval.authoring.doctor.findings import Finding, Findings
from pytest_rageval.judges.cost import count_prompt_tokens
from pytest_rageval.judges.model.chat import ChatReply

SYSTEM: Final = (
    "The user's message holds inventory lines. Its first line and its last line each give a code "
    'of the form "code XXXX-XXXX". Reply with nothing but the two codes, first and last.'
)
_FOUND: Final = Findings("judge")
_CHECK: Final = "long prompts"
_CUT_SHARE: Final = 0.5
"""A server that counts fewer than this share of the tokens estimated has cut the prompt: estimates
are off by a third, not by half."""
_FIX: Final = (
    "give the server a longer context (--ctx-size of llama.cpp, num_ctx of Ollama, "
    "--max-model-len of vLLM)"
)


def mark(end: str) -> str:
    """Return the code of one end: the same in each run, and not to be guessed from the text.

    >>> mark("first") != mark("last"), len(mark("first"))
    (True, 9)
    """
    digest = hashlib.sha256(f"rageval doctor {end}".encode()).hexdigest().upper()
    return f"{digest[:4]}-{digest[4:8]}"


def long_prompt(chars: int) -> str:
    """Return a text of about so many characters, with a mark at each end."""
    lines = [f"First line: code {mark('first')}."]
    size, number = len(lines[0]), 0
    while size < chars:
        number += 1
        lines.append(f"Shelf {number} holds {number * 7919 % 1000} boxes of part {number * 31}.")
        size += len(lines[-1]) + 1
    return "\n".join([*lines, f"Last line: code {mark('last')}."])


def read_long_reply(prompt: str, reply: ChatReply) -> Finding:
    """Say what a reply to ``long_prompt`` shows."""
    expected = count_prompt_tokens([SYSTEM, prompt])
    size = f"a prompt of about {expected} tokens"
    if reply.failure is not None:
        fix = f"{_FIX}, or judge shorter answers"
        return _FOUND.warn(_CHECK, f"no reply to {size}: {reply.failure.message}", fix)
    first, last = (_holds(reply.text, mark(end)) for end in ("first", "last"))
    counted = reply.prompt_tokens
    if counted is not None and 0 < counted < _CUT_SHARE * expected:
        message = f"{size} counted as {counted}: the server cuts it without saying so"
        return _FOUND.fail(_CHECK, message, _FIX)
    if first and last:
        return _FOUND.ok(_CHECK, f"the beginning and the end of {size} were seen")
    if first or last:
        lost = "end" if first else "beginning"
        message = f"the {lost} of {size} was not seen: it is cut without saying so"
        return _FOUND.fail(_CHECK, message, _FIX)
    fix = "take a model that follows instructions over long texts, or check the server's context"
    return _FOUND.warn(_CHECK, f"neither end of {size} was repeated, so nothing is known", fix)


def _holds(text: str, code: str) -> bool:
    return code in re.sub(r"[^0-9A-F-]", " ", text.upper())
