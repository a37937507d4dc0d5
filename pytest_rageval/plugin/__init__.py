"""The pytest plugin: hooks, options, items, fixtures, cassettes, the terminal.

The only package that imports pytest; it holds no calculation.
"""
