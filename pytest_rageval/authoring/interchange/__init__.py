"""Eval sets of other tools, to cases and back.

One module per format. ``registry`` lists them: a new format is one module with a ``read`` (and a
``write``), and one entry there. Readers take texts and give plain values; which files these came
from and where the cases go is the business of ``interchange_files``.
"""
