"""Comparison of two runs: pairs of cases, differences, flips, settings, noise.

Results are not rendered here but in ``report``.
"""
