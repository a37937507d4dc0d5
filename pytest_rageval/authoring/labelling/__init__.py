"""Labelling evidence: what a person decides about a case, key by key, with no screen and no file.

``draft`` holds what was decided, ``session`` is driven by keys, ``view`` says what is to be seen
and ``text`` writes that as lines. Faces (a terminal app, plain lines) and files are elsewhere.
"""
