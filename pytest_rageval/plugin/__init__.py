"""The pytest plugin: hooks, options, items, fixtures, cassettes, the terminal.

The only package that imports pytest. It holds no calculation: those are in ``engine`` and below.
"""
