"""The system under test: its contract, mappings, the HTTP client and a client from a fixture.

Replies are not scored here but in ``metrics``.
"""
