"""Rubrics: loading, prompts, the schema of a reply and the reading of it. No network."""
