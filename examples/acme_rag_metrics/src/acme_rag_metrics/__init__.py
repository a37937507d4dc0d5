"""Metrics, a section of the report and a judge of ACME for pytest-rageval."""
