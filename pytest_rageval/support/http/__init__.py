"""One HTTP attempt: addresses, deadlines, pools, retries, rate limits.

The bodies of requests and replies are not interpreted here.
"""
