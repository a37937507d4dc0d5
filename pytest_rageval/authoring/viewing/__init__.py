"""Answers the requests of the pages over all runs, for ``rageval view``.

The pages themselves are not made here.
"""
