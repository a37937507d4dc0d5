"""Why a stored case has the numbers that it has: a record in, an explanation out."""
