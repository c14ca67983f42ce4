"""``python -m localelastic`` is the command ``localelastic``."""

from localelastic.cli import main

if __name__ == "__main__":
    main()
