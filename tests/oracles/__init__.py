"""Checked examples and the files of other tools that judge the figures of the package."""
