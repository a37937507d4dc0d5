"""Markdown for ``summary.md`` and CI step summaries; numbers only, no user or model text."""
