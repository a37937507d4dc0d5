"""Intervals, paired tests, agreement and power, for cases as a sample of possible questions.

Standard library only; scipy is not imported, because it is slow to load, but the tests compare
results with it.
"""
