"""Plan, cuts and verdict of a sweep over configurations (docs/sweep.md).

Runs are asked in ``engine/sweep``.
"""
