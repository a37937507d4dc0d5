"""Sessions that keys drive: a page and its server, and a terminal app, which only pass keys on.

The effect of a key is not decided here but in ``labelling`` and ``review``.
"""
