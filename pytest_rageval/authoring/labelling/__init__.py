"""Labelling evidence: what a person decides about a case, key by key, with no screen and no file.

``draft`` holds what was decided, ``session`` is driven by keys, and ``view`` says what is to be
seen, as values and as lines. Faces (a terminal app, plain lines, a page) and files are elsewhere.
"""
