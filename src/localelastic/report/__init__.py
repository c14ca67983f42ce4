"""Result records, and their rendering for people.

The page itself is ``localelastic.report.html.render_report``; it is not imported here, because
the rooms that only fill a record need no template engine and no drawing.
"""

from localelastic.report.measure_record import Check, MeasureRecord, ShownExample
from localelastic.report.records import ClusterRecord, Score

__all__ = ["Check", "ClusterRecord", "MeasureRecord", "Score", "ShownExample"]
