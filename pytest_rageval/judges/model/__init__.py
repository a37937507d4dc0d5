"""Asks a model behind any OpenAI-compatible API for verdicts; imports openai."""
