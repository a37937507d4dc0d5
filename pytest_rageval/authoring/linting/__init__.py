"""Errors and warnings about sets of cases; no case is changed."""
