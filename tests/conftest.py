"""Every test runs with the shapes and types of all signatures checked."""

from jaxtyping import install_import_hook

install_import_hook("localelastic", "beartype.beartype")
