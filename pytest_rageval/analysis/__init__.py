"""Calculations over runs: aggregates, comparison, gate, statistics, trust in judges.

The metrics of a single case are not here but in ``metrics``.
"""
