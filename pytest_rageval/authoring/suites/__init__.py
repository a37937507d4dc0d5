"""Standard suites: known corpora with published figures.

It asks no target.
"""
