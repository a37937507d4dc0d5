"""Cases drafted from notes, for review by a person before they count."""
