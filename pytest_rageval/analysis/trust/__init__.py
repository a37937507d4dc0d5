"""Reliability of a judge: agreement with people, calibration, probes, drift."""
