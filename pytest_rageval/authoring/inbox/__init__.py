"""Reads logs of production into cases with their recorded responses; eval sets: `interchange`."""
