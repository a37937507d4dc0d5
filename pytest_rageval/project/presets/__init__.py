"""Settings that reach known RAG systems, as data, and what a project adds to them.

Holds no code of a system: one that a mapping cannot reach needs a client.
"""
