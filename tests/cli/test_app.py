"""The command around its subcommand: help, version, and errors in the words of the user."""

from __future__ import annotations

import sys
from dataclasses import fields

import pytest

from localelastic import __version__
from localelastic.cli.app import _in_flags, main
from localelastic.experiments import ClusterSpec


@pytest.fixture
def called(monkeypatch, capsys):
    """``called("--version")``: exit code and standard output of ``localelastic --version``."""

    def called(*words: str, columns: int = 80) -> tuple[int | str | None, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["localelastic", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().out

    return called


def test_version(called):
    assert called("--version") == (0, f"localelastic {__version__}\n")


@pytest.mark.parametrize("columns", [80, 120])
def test_help(called, columns):
    code, out = called("cluster", "--help", columns=columns)
    assert code == 0
    assert max(map(len, out.splitlines())) <= columns
    assert "localelastic cluster mnist --primary 5 8 --auxiliary 3 9" in out
    for panel in ("Task", "Data", "Network", "Measurement", "Output"):
        assert f"─ {panel} ─" in out


def test_every_setting_has_an_option(called):
    _, out = called("cluster", "--help", columns=200)
    names = {field.name for field in fields(ClusterSpec)} - {
        "data",
        "data_sha256",
        "features_sha256",
        "version",
    }
    missing = [name for name in names if f"--{name.replace('_', '-')} " not in out]
    assert missing == []
    for default in (ClusterSpec.sampling, ClusterSpec.clustering, ClusterSpec.similarity):
        assert f"[default: {default}]" in out


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_the_list_of_commands(called, words):
    assert "Cluster a coarse class into finer ones by local elasticity." in called(*words)[1]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("with label_column or ids", "with --label-column or ids"),
        ("bring them with image_size=(2, 3)", "bring them with --image-size (2, 3)"),
        (
            "id_column, input_columns; got n_primary",
            "--id-column, --input-columns; got --n-primary",
        ),
        ("a column 'id_column' in /tmp/id_column/id_column.csv", None),
        ("a file label_column.csv and my-label_column", None),
    ],
)
def test_names_are_shown_as_they_are_typed(message, shown):
    assert _in_flags(message) == (shown or message)
