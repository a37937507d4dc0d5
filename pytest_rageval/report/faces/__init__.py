"""Faces: modules that show the blocks of any view, none of which knows a view or another face."""
