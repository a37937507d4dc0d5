"""Judging of answers: rubrics, the offline judge, a model behind an API, its cache and its cost.

What scores mean for a run, and how far a judge can be trusted, is ``analysis.trust``.
"""
