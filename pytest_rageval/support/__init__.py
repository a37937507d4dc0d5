"""General tools that know nothing of cases: files, JSON, TOML, text, threads, SQL.

Only what would make sense in another project belongs here.
"""
