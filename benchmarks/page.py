"""The figures as a page of the docs and a plot."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.cases import CASES

DOCS = Path(__file__).parent.parent / "docs"


def write_page(record: dict) -> None:
    """``docs/benchmarks.md`` and ``docs/benchmarks.png``."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `python -m benchmarks`; every ratio is of two times taken in one run. Timings",
        "on shared machines are noisy: read ratios, not seconds.",
        "",
        "| machine | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in record["environment"].items()),
        f"| date | {record['date']} |",
        "",
        "![Time of a sequential pass as n, h and d grow](benchmarks.png)",
        "",
    ]
    for name, result in record["cases"].items():
        doc = " ".join((CASES[name].__doc__ or "").split())
        lines += [f"## {name.replace('_', ' ')}", "", doc, "", "| | |", "|---|---|"]
        lines += [f"| {key} | {_worded(key, value)} |" for key, value in result["figures"].items()]
        lines += [f"| peak memory | {result['peak bytes'] / 2**30:.2f} GiB |", ""]
    (DOCS / "benchmarks.md").write_text("\n".join(lines))
    if "growth" in record["cases"]:
        _plot(record["cases"]["growth"]["figures"])


def _worded(key: str, value: float) -> str:
    if key.startswith("ratio"):
        return f"{value:.1f} x"
    if "fraction" in key:
        return f"{value:.0%}"
    if any(word in key for word in ("operations", "nanoseconds", "timed", "share")):
        return f"{value:.3g}"
    return f"{value:.3g} s"


def _plot(growth: dict[str, float]) -> None:
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    for ax, (axis, power) in zip(axes, (("n", 2), ("h", 1), ("d", 0)), strict=True):
        points = [(int(key[2:]), t) for key, t in growth.items() if key.startswith(f"{axis}=")]
        x, y = zip(*points, strict=True)
        ax.loglog(x, y, "o-", color="#0b6e8a", label="measured")
        middle = len(x) // 2
        ideal = [y[middle] * (value / x[middle]) ** power for value in x]
        ax.loglog(x, ideal, ":", color="#777777", label=f"power {power}")
        ax.set_xlabel({"n": "examples n (= m)", "h": "hidden units h", "d": "features d"}[axis])
        ax.set_xticks(x, [f"{value:,}" for value in x])
        ax.minorticks_off()
        ax.legend(frameon=False)
    axes[0].set_ylabel("seconds per sequential pass")
    figure.savefig(DOCS / "benchmarks.png", dpi=150)
