"""Eval sets of other tools to cases and back: a module per format, listed in ``registry``.

Formats take and return texts; only ``files`` reads and writes files, the other modules do not.
"""
