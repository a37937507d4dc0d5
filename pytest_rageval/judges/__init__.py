"""Judging of answers: rubrics, the offline judge, a model behind an API, its cache and its cost.

Scores of a run and the reliability of a judge are not computed here but in ``analysis``.
"""
