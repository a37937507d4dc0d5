"""The system under test: its contract, mappings, the HTTP client and a client from a fixture.

Scoring of a reply is in ``metrics``; asking many cases is in ``engine`` and ``plugin``.
"""
