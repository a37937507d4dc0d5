"""Serves pages to one browser on this machine: the loopback socket and the access control.

The pages themselves are not here.
"""
