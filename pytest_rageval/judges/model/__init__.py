"""A judge model behind any OpenAI-compatible API, asked over HTTP for verdicts."""
