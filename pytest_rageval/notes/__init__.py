"""Markdown notes of a folder, with their sections; imports markdown-it."""

from pytest_rageval.notes.folder import NotesError, SkippedNote, Vault, read_notes
from pytest_rageval.notes.sections import Note, Section, inline_tokens, parse_note

__all__ = [
    "Note",
    "NotesError",
    "Section",
    "SkippedNote",
    "Vault",
    "inline_tokens",
    "parse_note",
    "read_notes",
]
