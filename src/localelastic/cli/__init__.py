"""The command line: words in, words out. The only room that prints."""

from localelastic.cli.app import main

__all__ = ["main"]
