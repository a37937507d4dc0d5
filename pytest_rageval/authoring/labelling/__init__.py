"""Labelling of evidence: the session, its files and two interfaces (terminal, web).

Stored runs are not changed and no judge is asked.
"""
