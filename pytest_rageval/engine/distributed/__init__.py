"""Scoring recorded responses in many processes, in parts on disk that outlive them.

How a case is scored and columns are averaged is not here: ``engine.recorded`` and ``analysis``.
"""
