"""Clustering by local elasticity, and how well clusters match known classes."""
