"""Rubrics: loading, prompts, the schema of a reply and its parsing. No network."""
