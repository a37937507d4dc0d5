"""Plain text for terminals: summaries, comparisons, explanations, agreement.

It returns strings and prints nothing.
"""
