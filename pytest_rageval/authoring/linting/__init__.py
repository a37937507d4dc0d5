"""What is wrong, or odd, about sets of cases: pure, on cases and notes that were read before."""
