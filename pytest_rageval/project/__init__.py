"""The user's project: case files, settings, thresholds and documents, read and edited.

Stored runs are not here but in ``runs``.
"""
