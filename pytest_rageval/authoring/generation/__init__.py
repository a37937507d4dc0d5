"""Drafting of cases from notes; a draft does not count until a person has reviewed it."""
