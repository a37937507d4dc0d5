"""Eval sets of other tools to cases and back: formats, listed in ``registry``.

Formats take and return texts; only ``files`` reads and writes files, the other modules do not.
"""
