"""Labelling of evidence: what a key decides, the visible state, and files that keep it.

A terminal app, plain lines and a web page (``web``) show the same session.
"""
