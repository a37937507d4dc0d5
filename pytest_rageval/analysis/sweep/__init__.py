"""Plan, cuts and verdict of a sweep over configurations (docs/sweep.md).

Configurations are not asked here but in ``engine/sweep``.
"""
