"""Means, intervals, latency and cost of a run, from its records.

Two runs are not compared here but in ``analysis.compare``.
"""
