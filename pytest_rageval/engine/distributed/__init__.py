"""Scoring recorded responses in many processes, with the numbers of one.

Both files are divided by the hash of the case id, each part is scored into columns on disk, and the
columns are aggregated metric by metric. Everything finished stays in a folder, from which the same
command continues.
"""
