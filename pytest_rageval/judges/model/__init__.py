"""A judge model behind any OpenAI-compatible API, asked over HTTP for verdicts.

Prompts and the parsing of replies are not here but in ``rubrics``.
"""
