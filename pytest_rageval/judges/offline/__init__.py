"""The offline judge: verdicts from words alone, without a model or the network.

Its fitted numbers are in ``parameters.json``; rubrics and prompts are not here.
"""
