"""The web interface of labelling: one keyboard-driven page on the loopback interface.

``server.LabelServer`` is the entry point; it is imported only for ``--web``.
"""
