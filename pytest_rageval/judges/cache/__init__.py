"""Keeps what judges said, so that the same question is paid for once; imports sqlalchemy.

An SQLite file by default, PostgreSQL by URL. Keys are hashes and values are JSON: a cache holds
verdicts, but no prompt and no key of an API.
"""
