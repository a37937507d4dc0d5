"""Errors and warnings about sets of cases: pure, on cases and notes that were read before."""
