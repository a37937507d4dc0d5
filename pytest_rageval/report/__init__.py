"""Rendering of results: values in, strings out."""
