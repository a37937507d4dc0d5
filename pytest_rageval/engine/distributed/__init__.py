"""Scoring recorded responses in many processes, with the numbers of one.

Both files are divided by the hash of the case id, each part is scored into columns on disk, from
which the same command continues. No number is computed here: that is ``metrics`` and ``analysis``.
"""
