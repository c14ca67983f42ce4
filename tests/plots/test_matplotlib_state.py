import subprocess
import sys

PROGRAM = """
import sys
import localelastic.report  # a record needs no drawing and no templates
assert not {"matplotlib", "jinja2", "PIL"} & set(sys.modules)

import matplotlib
before = matplotlib.rcParams.copy()  # a copy does not settle the backend, reading it would
import numpy as np
from matplotlib.figure import Figure
import localelastic.plots as plots
order = plots.grouped(np.array([0, 1]), within=np.zeros(2, int), distance=np.zeros(2))
axes = Figure().subplots()
names = {0: "cat", 1: "dog"}
plots.similarity_heatmap(axes, np.eye(2), ordering=order, names=names, meaning="similarity")
axes.figure.canvas.draw()
assert matplotlib.rcParams.copy() == before
assert "matplotlib.pyplot" not in sys.modules
"""


def test_imports_are_late_and_backend_and_settings_of_matplotlib_stay():
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.stderr == ""
