"""Questions by hand: one target, asked again with other settings; cases made of its answers.

No run is stored, and nothing is read from a terminal here.
"""
