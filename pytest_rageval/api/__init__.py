"""The functions and views that the package root offers for scripts and notebooks, besides values.

They need no pytest and print nothing.
"""
