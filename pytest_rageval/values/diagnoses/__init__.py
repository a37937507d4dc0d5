"""Tables of what happened and what to do about it, by code; no other code makes such sentences."""
