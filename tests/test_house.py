"""Rules of the house: what is exported, who may import whom, what stays unloaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import localelastic

ROOT = Path(localelastic.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ROOMS = [
    *(
        "errors",
        "shapes",
        "numerics",
        "data",
        "models",
        "update",
        "trajectory",
        "change",
        "similarity",
    ),
    *(
        "matrix",
        "measure",
        "cluster",
        "analysis",
        "plots",
        "report",
        "experiments",
        "cli",
        "__main__",
    ),
]
"""Imports point to the left. ARCHITECTURE.md says why."""


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules = [node.module]
            if node.module == "localelastic":
                modules = [f"localelastic.{alias.name}" for alias in node.names]
        found |= {m.split(".")[1] for m in modules if m.startswith("localelastic.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    if path == ROOT / "__init__.py":
        return
    here = ROOMS.index(room(path))
    above = {name for name in imported_rooms(path) - {"__version__"} if ROOMS.index(name) > here}
    assert not above, f"{room(path)} imports from the higher room {above}"


def test_every_room_is_on_the_list():
    assert {room(path) for path in FILES} - {"__init__"} <= set(ROOMS)


def test_exported_names():
    assert localelastic.__all__ == sorted(localelastic.__all__, key=lambda n: (not n.isupper(), n))
    for name in localelastic.__all__:
        assert getattr(localelastic, name).__doc__, name
    tree = ast.parse((ROOT / "__init__.py").read_text())
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module.startswith("localelastic")
        for alias in node.names
    }
    assert imported == set(localelastic.__all__)


NEEDED = "import torch, numpy, scipy.optimize, sklearn.cluster, sklearn.manifold, jaxtyping"


def after_import(code: str) -> str:
    """What ``code`` prints in a fresh process around ``import localelastic``."""
    run = subprocess.run(
        [sys.executable, "-c", f"{NEEDED}\n{code}"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_import_loads_nothing_that_only_some_need():
    heavy = {"matplotlib", "pyarrow", "PIL", "pooch", "typer", "jinja2", "localelastic.cli"}
    code = (
        "import sys; before = set(sys.modules); import localelastic\n"
        f"print(*sorted({heavy!r} & (set(sys.modules) - before)))"
    )
    assert after_import(code).split() == []


def test_import_leaves_global_settings_alone():
    state = (
        "(random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), "
        "torch.get_default_dtype(), torch.get_num_threads(), logging.getLogger().handlers[:])"
    )
    code = (
        f"import random, logging; before = {state}; import localelastic; print(before == {state})"
    )
    assert after_import(code).strip() == "True"
