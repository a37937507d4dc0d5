"""The search of the site: which pages come first, and words by which people look for them."""

from __future__ import annotations

import json
from collections.abc import Iterator

WORDS = {
    "ci.md": ("github actions", "gitlab", "pull request comment", "pr comment"),
    "compare.md": ("regression", "significance", "p-value", "baseline"),
    "explain.md": (
        "why did a case fail", "debug a case", "timeout", "http 500", "no chunks",
        "nothing checked",
    ),
    "import.md": ("langfuse", "production logs", "csv"),
    "judges.md": (
        "llm as a judge", "claude", "anthropic", "gemini", "openai", "azure openai", "mistral",
        "ollama", "vllm", "llama.cpp", "litellm", "openrouter", "local model",
    ),
    "languages.md": ("german", "french", "japanese", "multilingual", "tables", "pdf pages"),
    "performance.md": ("cost of a run", "distributed", "many machines"),
    "matching.md": ("anchor", "chunk id", "citation formats"),
    "recipes/frameworks.md": ("langchain", "llamaindex", "haystack"),
    "recipes/presets.md": ("dify", "ragflow", "langgraph", "open webui", "flowise"),
    "runs.md": (
        "flaky", "non-deterministic", "pass^k", "pass@k", "repeats", "exit code", "changed cases",
        "git diff", "compare two branches", "git worktree",
    ),
    "score.md": ("offline evaluation", "existing answers", "without asking"),
    "start.md": ("install", "extras", "doctor"),
    "streams.md": ("streaming", "sse", "time to first token", "ttft", "mcp"),
    "conversations.md": ("multi-turn", "multi-turn conversations", "chat history"),
    "target.md": ("authentication",),
    "thresholds.md": ("cost", "budget", "latency limit", "gate"),
}  # fmt: skip
"""Pages of the site, and words that lead to each before what contains them by chance."""
_RANKS = {
    "project/changelog": -100,
    "project/": -20,
    "genindex": -100,
    "sections/": -30,
    "metrics/": -4,
    "reference/": -3,
    "tutorials/": -1,
}
"""Beginnings of the names of pages, the first that fits, and what is added to their scores."""


def with_words(pages: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pages that have words, with an entry of the index for each word."""
    for name, words in WORDS.items():
        title, _, rest = pages[name].partition("\n")
        entries = ", ".join(f"!{word}" for word in words)
        yield name, f"{title}\n\n```{{index}} {entries}\n```\n{rest}"


def scorer() -> str:
    """Return the script by which the theme scores what a search finds: titles before text."""
    return f"""const RANKS = {json.dumps(_RANKS)};

var Scorer = {{
  objNameMatch: 11,
  objPartialMatch: 3,
  objPrio: {{0: 15, 1: 5, 2: -5}},
  objPrioDefault: 0,
  title: 30,
  partialTitle: 10,
  term: 5,
  partialTerm: 1,
  score: ([page, _title, _anchor, _description, score]) => {{
    const found = Object.keys(RANKS).find((name) => page.startsWith(name));
    return found === undefined ? score : score + RANKS[found];
  }},
}};
"""
