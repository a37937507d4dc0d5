"""Pages over all runs of a project: the list, and two or three runs side by side.

The page of one run is not here.
"""
