"""What stands in the page itself: numbers as people write them, pictures as text."""

from base64 import b64encode

MINUS = "\N{MINUS SIGN}"


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}".replace("-", MINUS)


def fixed(value: float) -> str:
    """Three places after the point, for a column of scores."""
    return f"{value:.3f}".replace("-", MINUS)


def data_uri(png: bytes) -> str:
    """A picture as the address of itself."""
    return "data:image/png;base64," + b64encode(png).decode()
