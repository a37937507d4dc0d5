"""Judging of answers: rubrics, the offline judge, a model behind an API, its cache and its cost.

``analysis.trust`` holds the meaning of scores for a run and the trust in a judge.
"""
