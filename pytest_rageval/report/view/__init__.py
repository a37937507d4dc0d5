"""Views: what is shown of a result and in which order, as blocks; how they look is not here."""
