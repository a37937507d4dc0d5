"""Execution of a sweep: index builds, and one ordinary run for each configuration.

Plans, cuts and verdicts are not here but in ``analysis/sweep``.
"""
