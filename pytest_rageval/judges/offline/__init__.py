"""The offline judge: verdicts from words alone, without a model or the network.

Rubrics and their prompts are in ``rubrics``; the numbers it was fitted to are in
``parameters.json``.
"""
