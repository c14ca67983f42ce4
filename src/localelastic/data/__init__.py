"""Examples, where they come from, and the primary-against-auxiliary task."""
