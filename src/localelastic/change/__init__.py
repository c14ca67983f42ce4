"""Strategies: the change of prediction that a step causes."""
