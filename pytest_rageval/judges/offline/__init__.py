"""The offline judge: verdicts from words alone, without a model or the network.

``words`` and ``claims`` read texts, ``passages`` and ``support`` look claims up, ``grounding``,
``correctness`` and ``abstention`` decide, ``judge`` answers as any judge does.
"""
