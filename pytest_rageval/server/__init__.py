"""A small RAG server over a folder of Markdown, asked over HTTP alone.

It lets every part of pytest-rageval work with no service and no key. It imports nothing of the
rest of the package and knows no evaluation set, so it can be wrong.
"""
