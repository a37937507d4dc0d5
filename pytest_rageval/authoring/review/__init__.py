"""Review of answers: those of a run or a file, the session of a reader and its two interfaces.

It computes no order and no figure (``analysis.review``), and writes no file (``runs.reviews``).
"""
