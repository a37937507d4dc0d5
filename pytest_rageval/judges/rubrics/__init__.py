"""Rubrics: loading, prompts, the schema of a reply and its parsing; no judge is asked here."""
