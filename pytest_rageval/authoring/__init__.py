"""Making and mending cases: labelling, generation, import and export, linting, set-up, doctor.

Nothing here takes part in a run.
"""
