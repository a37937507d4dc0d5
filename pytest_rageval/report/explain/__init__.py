"""Explanation of a stored case's numbers: a record in, values out, not text."""
