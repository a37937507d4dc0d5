"""Tools that would make sense in another project: files, HTTP, JSON, TOML, text, threads, SQL.

They know nothing of cases or runs.
"""
