"""Rendering of results as text, Markdown, JSON and HTML; no target or judge is asked here."""
