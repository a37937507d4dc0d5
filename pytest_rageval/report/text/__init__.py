"""Plain text for terminals: summaries, comparisons, explanations, agreement."""
