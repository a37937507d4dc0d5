"""Conversion of eval sets of other tools to cases and back.

One module per format, and ``suite`` for those whose fields are named as ours. ``registry`` lists
them: a new format is one module with a ``read`` (and a ``write``), and one entry there. Readers
take texts and return plain values; ``files`` reads and writes the files.
"""
