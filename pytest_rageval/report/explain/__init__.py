"""Explanation of the numbers of a stored case: a record in, an explanation out."""
