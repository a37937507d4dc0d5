"""A working project to start from: cases, notes, limits and a CI job.

Existing files are not overwritten.
"""
