"""Cache of verdicts, so that the same question is paid for once; imports sqlalchemy.

An SQLite file by default, PostgreSQL by URL. Keys are hashes and values are JSON: a cache holds
verdicts, but neither prompts nor API keys.
"""
