"""Markdown for ``summary.md`` and CI step summaries: numbers, no user, document or model text."""
