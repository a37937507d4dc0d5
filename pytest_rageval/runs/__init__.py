"""Run folders: writing, reading, listing, naming, tagging, and the history database.

Cases are not asked or scored here.
"""
