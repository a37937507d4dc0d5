"""The definitions of docs/metrics.md written a second time, slowly and literally.

Nothing here imports the package, so that a shared mistake needs two people to make it. Read it
as the definitions in executable form; ``test_naive_agreement.py`` compares it with the package.
"""
