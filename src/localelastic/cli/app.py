"""The command ``localelastic``, its exit codes, and what becomes of errors.

Exit codes: 0 done; 1 the measurement ran but came to nothing; 2 the input or the output place is at
fault, said before any work; 130 interrupted (143 terminated), nothing left behind.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from localelastic import __version__
from localelastic.cli.cluster import cluster
from localelastic.cli.lists import ListCommand
from localelastic.cli.measure import check, measure
from localelastic.cli.run import list_experiments, run
from localelastic.cli.stopping import Stopped, stoppable
from localelastic.errors import LocalElasticError, MeasurementError
from localelastic.experiments import as_typed

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


_COMMANDS: dict[str, Callable[..., None]] = {
    "cluster": cluster,
    "measure": measure,
    "check": check,
    "run": run,
    "list": list_experiments,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=ListCommand, help=_unwrapped(_command.__doc__))(_command)


def _version(wanted: bool) -> bool:
    if wanted:
        print(f"localelastic {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, metavar="", help="Show the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; turn errors that are nobody's bug into a message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A class name that the terminal cannot show must not fail a run that has succeeded.
            stream.reconfigure(errors="backslashreplace")
    try:
        with stoppable():
            app()
    except LocalElasticError as error:
        _fail(_in_flags(str(error)), exit_code=1 if isinstance(error, MeasurementError) else 2)
    except MemoryError as error:
        _fail(
            f"out of memory ({error}); ask for fewer examples (--n-primary)",
            exit_code=1,
        )
    except Stopped as stopped:
        print("Stopped; no unfinished results are left.", file=sys.stderr)
        sys.exit(stopped.exit_code)


def _fail(message: str, *, exit_code: int) -> None:
    Console(stderr=True).print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    sys.exit(exit_code)


_NAMES = "|".join(
    dict.fromkeys(
        name
        for command in _COMMANDS.values()
        for name in inspect.signature(command).parameters
        if "_" in name.strip("_")
    )
)
_NAMED = re.compile(rf"(?<![\w/.'-])({_NAMES})\b(?!['/.])=?")


def _in_flags(message: str) -> str:
    """The same with the names of our options as they are typed: id_column becomes --id-column."""

    def flag(found: re.Match[str]) -> str:
        spaced = " " if found[0].endswith("=") else ""
        return "--" + found[1].replace("_", "-") + spaced

    return as_typed(_NAMED.sub(flag, message))
