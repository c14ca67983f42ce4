"""The command ``localelastic``, its exit codes, and what becomes of errors.

Exit codes: 0 done; 1 the measurement ran but came to nothing; 2 the input or the output place is at
fault, said before any work; 130 interrupted, nothing left behind.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from localelastic import __version__
from localelastic.cli.cluster import cluster
from localelastic.cli.lists import ListCommand
from localelastic.errors import LocalElasticError, MeasurementError

app = typer.Typer(
    help="Take one gradient step on one example: how does every other prediction move?",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _unwrapped(text: str | None) -> str:
    """Paragraphs on one line each: the terminal wraps them to its own width."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


app.command(cls=ListCommand, help=_unwrapped(cluster.__doc__))(cluster)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"localelastic {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; turn the package's errors into a message and an exit code."""
    try:
        app()
    except LocalElasticError as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {_escaped(error)}", soft_wrap=True)
        sys.exit(1 if isinstance(error, MeasurementError) else 2)
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted; nothing was written.")
        sys.exit(130)


def _escaped(error: Exception) -> str:
    return str(error).replace("[", r"\[")
