"""Labelling of evidence: the session, its files and three interfaces (terminal, plain lines, web).

Stored runs are not changed and no judge is asked.
"""
