"""A record as one self-contained HTML page."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from localelastic.report.effect import charts, probe_groups, stepped_group, tiles
from localelastic.report.gallery import clusters
from localelastic.report.inline import fixed, number
from localelastic.report.maps import maps
from localelastic.report.measure_record import MeasureRecord
from localelastic.report.page import confusion, figures
from localelastic.report.records import ClusterRecord


def render_report(record: ClusterRecord) -> str:
    """Write one finished run as a page that needs no other file and no network.

    It says what was found before how; shows the similarity matrix, the telling examples of each
    cluster and, where classes are known, how the clusters match them; and ends with all that is
    needed to repeat the run.

    Args:
        record: the run, as ``localelastic cluster`` leaves it.

    Returns:
        The text of an HTML file, to be saved as UTF-8.

    Example:
        >>> import numpy as np
        >>> record = ClusterRecord(
        ...     question="Which of the two are alike?", finding="Neither & nor.", scores=(),
        ...     ids=("a", "b"), labels=np.array([0, 1]), classes=None, matched=None,
        ...     distances=1.0 - np.eye(2), similarity=np.eye(2),
        ...     similarity_name="kernelized similarity", inputs=np.eye(2), excluded=(),
        ...     settings={}, environment={}, notes=())
        >>> "<h1>Neither &amp; nor.</h1>" in render_report(record)
        True
    """
    template = environment().get_template("report.html")
    return template.render(
        record=record,
        figures=figures(record),
        maps=maps(record),
        clusters=clusters(record),
        confusion=confusion(record),
    )


def render_measure(record: MeasureRecord) -> str:
    """Write one step and what else moved as a page that needs no other file and no network.

    Args:
        record: the measurement, as ``localelastic measure`` leaves it.

    Returns:
        The text of an HTML file, to be saved as UTF-8.
    """
    return (
        environment()
        .get_template("measure.html")
        .render(
            record=record,
            figures=tiles(record),
            stepped=stepped_group(record),
            groups=probe_groups(record),
            charts=charts(record),
            warnings=sum(one.level == "warning" for one in record.checks),
        )
    )


@cache
def environment() -> Environment:
    """Of all templates."""
    made = Environment(
        loader=PackageLoader("localelastic.report"),
        autoescape=True,  # ids and class names are the user's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = number
    made.filters["fixed"] = fixed
    return made
