"""The gate: figures and limits in, a decision with its checks out."""
