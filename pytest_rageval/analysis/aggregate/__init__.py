"""Means, intervals, latency and cost of a run, from its records."""
