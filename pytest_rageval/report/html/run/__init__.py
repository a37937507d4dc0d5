"""``report.html``: one self-contained page of a run.

Only ``files`` reads runs and writes the page; the other modules do not.
"""
