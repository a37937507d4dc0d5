"""Run folders: writing, reading, listing, naming, tagging, and the history database."""
