"""Metrics of a case, one family per file; ``registry`` names and describes every key."""
