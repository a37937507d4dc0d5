"""Reliability of a judge: agreement with people, calibration, probes, drift.

Judges are not asked here but in ``judges``.
"""
