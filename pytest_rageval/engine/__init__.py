"""Control of one case and of one run: ask, score, store, aggregate, decide, write.

The calculations are in ``metrics`` and ``analysis``, files in ``runs``. No pytest, no terminal.
"""
