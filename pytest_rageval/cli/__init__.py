"""The ``rageval`` command: its entry point, its output and one module per subcommand.

Commands parse options, call the packages below and print; they hold no calculation.
"""
