"""Comparison of two runs: pairs of cases, differences, flips, settings, noise."""
