"""Pictures: axes in, axes out."""
