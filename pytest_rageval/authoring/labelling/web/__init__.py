"""The web interface of labelling: a keyboard-driven page on loopback, imported only for ``--web``.

The effect of a key is not decided here but in ``labelling.session``.
"""
