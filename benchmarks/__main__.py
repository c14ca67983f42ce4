"""``python -m benchmarks [CASE ...]``: run each case alone, write figures, a page and a plot."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.page import write_page
from localelastic.experiments.environment import environment

FIGURES = Path(__file__).with_name("figures.json")


def run_alone(name: str) -> dict[str, object]:
    """A case in a process of its own, so that its peak memory is its own."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--alone", name],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def alone(name: str) -> None:
    figures = CASES[name]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"figures": figures, "peak bytes": peak}))


def main(names: list[str]) -> None:
    unknown = set(names) - set(CASES)
    if unknown:
        sys.exit(f"unknown cases {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    record = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"cases": {}}
    record["cases"] = {name: found for name, found in record["cases"].items() if name in CASES}
    record["environment"] = environment()
    record["date"] = datetime.now(UTC).date().isoformat()
    for name in names or CASES:
        print(f"{name}: {CASES[name].__doc__.splitlines()[0]}", flush=True)
        record["cases"][name] = run_alone(name)
        print(json.dumps(record["cases"][name], indent=2), flush=True)
        FIGURES.write_text(json.dumps(record, indent=2) + "\n")
    write_page(record)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2])
    else:
        main(sys.argv[1:])
