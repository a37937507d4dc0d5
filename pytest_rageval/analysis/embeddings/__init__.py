"""Figures of embeddings: similarity, margin and silhouette over a run."""
