"""Measurements of speed and memory: ``python -m benchmarks``; kept out of the tests."""
