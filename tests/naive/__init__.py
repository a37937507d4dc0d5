"""The definitions of docs/site/metrics.toml and docs/metrics.md, written again slowly.

Nothing here imports the package, so that a shared mistake needs two people to make it. Read it
as the definitions in executable form; ``test_agreement.py`` compares it with the package.
Statistics and figures of a run are not here: the checked examples in ``tests/data`` judge them.
"""
