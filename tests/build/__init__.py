"""Makers of what tests work on: cases, records, runs, files, fake targets and judges, servers."""
