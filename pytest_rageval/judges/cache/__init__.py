"""Cache of verdicts in SQLite or PostgreSQL, so that each is paid for once; imports sqlalchemy.

Keys are hashes and values are JSON: it holds verdicts, but no prompts and no API keys.
"""
