"""The paper's figures and tables, one file each: adding one is adding a file.

A module takes part by having ``EXPERIMENTS``, a tuple of :class:`Experiment`.
"""
