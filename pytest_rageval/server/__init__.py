"""A small RAG server over a folder of Markdown, for trials and tests without a service or key.

It imports nothing of the rest of the package and knows no evaluation set, so it can be wrong.
"""
