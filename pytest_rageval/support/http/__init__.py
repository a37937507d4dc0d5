"""One HTTP attempt and what surrounds it: addresses, deadlines, pools, retries, rate limits."""
