"""The gate: figures and limits in, a decision with its checks out; limits are not read here."""
