"""Ranges of thoughts in answers of reasoning models, and texts that only speak of the tags."""

from __future__ import annotations

import time

import pytest

from pytest_rageval.support.thoughts import thought_spans, without_thoughts

ANSWER = "It opens at nine."
FINAL = "<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    "thought",
    [
        "<think>Ten?</think>",
        "<think>\nTen [2]?\n</think>\n\n",
        "<think>\n\n</think>\n",
        "<think> hm, ten? </think> ",
        "<THINK>Ten?</THINK>",
        "<thinking>Ten?</thinking>\n",
        "<thought>Ten?</thought>",
        "<reasoning>Ten?</reasoning>\n",
        "<reflection>Ten?</reflection>",
        "<scratchpad>Ten?</scratchpad>\n",
        "<seed:think>Ten?</seed:think>",
        "<inner_monologue>Ten?</inner_monologue>",
        "◁think▷Ten?◁/think▷",
        "[THINK]Ten?[/THINK]",
        "<|begin_of_thought|>Ten?<|end_of_thought|>",
        "<|START_THINKING|>Ten?<|END_THINKING|>",
        '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> Ten?\n</details>\n',
        f"<|channel|>analysis<|message|>Ten?{FINAL}",
        f"<|start|>assistant<|channel|>analysis<|message|>Ten?<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.find <|constrain|>json<|message|>{{}}{FINAL}",
        "analysisWe need the hours. Ten?assistantfinal",
        "Okay, perhaps ten [2].</think>",
        "Okay, perhaps ten</think>\n\n",
        "Okay, perhaps ten, so </think>",
        "たぶん十時。</think>",
        "</think>\n",
        "<think>Ten?</think>\n<think>Or nine?</think>",
        "<think>Ten? <think>Or nine?</think> Nine.</think>",
        "<think>I end this with `</think>`, later.</think>",
        '<think>{"a": "</think>"}, no.</think>',
        "<think>Use `</think>",
    ],
)
def test_a_thought_before_an_answer_is_all_that_is_no_answer(thought: str) -> None:
    assert without_thoughts(thought + ANSWER).strip() == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        ANSWER,
        "The <think> tag begins a thought, </think> ends it.",
        "<think> is a tag that models write, and </think> its end.",
        "<think>, <thinking> and </think> are tags.",
        "The tag is called <think>.",
        "Wrap it in <think>such tags</think> before you answer.",
        "A thought ends with </think>. Then comes the answer.",
        "A thought ends with </think>",
        "Write `<think>` first and `</think>` last.",
        '"<think>" begins it. "</think>" ends it.',
        "- <think> begins it\n- </think> ends it\n",
        "| <think> | begins it |\n| </think> | ends it |",
        "So it looks:\n```xml\n<think>\nTen?\n</think>\n```\nThat is all.",
        '{"text": "<think>Ten? ", "other": "Right.</think> At nine"}',
        'Verdict: {"text": "Right.</think> At nine"}',
        'The answer reads "<think>The user asks.</think> It opens".',
        "Read <details>more</details> of it.",
        "The list ends with </details> Then more.",
        "gpt-oss writes `assistantfinal` before its answer.",
        'gpt-oss writes "assistantfinal" before its answer.',
        "The [think] tank.",
        "It is nine.\n<think>\nOr is it",
    ],
)
def test_a_tag_that_a_text_speaks_of_hides_nothing(text: str) -> None:
    assert thought_spans(text) == ()


@pytest.mark.parametrize(
    "part",
    [
        *("<think>", "x <think>", "</think>", "x </think> x", "<think>x</think>", "{<think>"),
        *("`<think>", "```\n<think>\n", "<|channel|>final<|constrain|>", "<a_", "<details "),
        '{"a":',
    ],
)
def test_a_text_of_very_many_tags_costs_no_time(part: str) -> None:
    text = part * (400_000 // len(part)) + "<think>"
    started = time.process_time()
    thought_spans(text)
    assert time.process_time() - started < 4
