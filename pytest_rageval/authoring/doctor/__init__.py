"""Checks of a project, its target and its judge, each with a suggested fix; nothing is changed."""
