"""Calculations over runs: aggregates, comparison, gate, statistics, trust in judges.

Pure functions on plain values. The metrics of a single case are in ``metrics``.
"""
