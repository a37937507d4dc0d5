"""An index of stored runs in a database, for questions over many of them; imports sqlalchemy.

An SQLite file or PostgreSQL by URL. The folders of the runs stay the source: the index is filled
from them and can be rebuilt from them at any time. It holds ids, numbers, outcomes, hashes,
versions and settings, but no question, no answer and no text of a document.
"""
