"""``report.html``: one self-contained page of a run; values in, a string out."""
