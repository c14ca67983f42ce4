"""Whole jobs: spec to result record to rendering."""
