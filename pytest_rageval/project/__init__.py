"""The user's project: case files, settings, thresholds and documents, read and edited.

Stored runs are in ``runs``.
"""
