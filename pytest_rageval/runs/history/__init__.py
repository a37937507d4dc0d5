"""An index of run folders in SQLite or PostgreSQL, rebuilt from them at will; imports sqlalchemy.

It holds ids, numbers, outcomes, hashes, versions and settings, but no question, no answer and no
text of a document.
"""
