"""Authoring of cases: labelling, generation, import and export, linting, set-up, doctor.

Runs do not need this package.
"""
