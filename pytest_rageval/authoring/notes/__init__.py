"""Markdown notes of a folder, with their sections; imports markdown-it."""
