"""Asks a model behind any OpenAI-compatible API for verdicts; imports openai."""

from pytest_rageval.judge_client.judge import OpenAIJudge
from pytest_rageval.judge_client.names import unpinned_alias

__all__ = ["OpenAIJudge", "unpinned_alias"]
