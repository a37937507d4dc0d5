"""The web face of labelling: one page on the loopback interface, worked by keyboard alone.

``server.LabelServer`` is the way in; it is imported only where ``--web`` asks for it.
"""
