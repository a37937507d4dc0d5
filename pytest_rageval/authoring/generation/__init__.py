"""Cases made from notes, to be reviewed by a person before they count."""
