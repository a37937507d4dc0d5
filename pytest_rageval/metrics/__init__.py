"""Metrics of a reply, one family per file; ``registry`` names and describes every key.

Means over a run are not here but in ``analysis.aggregate``.
"""
