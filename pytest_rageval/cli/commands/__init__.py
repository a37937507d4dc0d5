"""The subcommands of ``rageval``: one module each, with a click command named ``command``.

They hold no calculation.
"""
