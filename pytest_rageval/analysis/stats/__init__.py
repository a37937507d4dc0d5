"""Statistics on the standard library alone: intervals, paired tests, agreement, power.

Cases are a sample of the questions users could ask; every interval is about that population.
scipy is only the tests' oracle, so that importing this package costs milliseconds.
"""
