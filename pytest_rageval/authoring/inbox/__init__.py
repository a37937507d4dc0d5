"""Logs of production to cases with the responses that were given; not eval sets of other tools."""
