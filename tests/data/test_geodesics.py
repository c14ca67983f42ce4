"""Distances are the lengths of shortest paths.

The shortest paths are found on meshes made of points in space alone: they know neither arc lengths
nor how a box is unrolled.
"""

import math

import numpy as np
import pytest
from geometries import SIDES, each, part
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from localelastic.data import GEOMETRIES, FoldedBoxes, Side, Spheres

CURVES = ["torus", "cosines", "double-helix", "cycles"]
CLOSED = ["torus", "cycles"]


def shortest(points, joined, sources):
    """Along straight pieces between ``joined`` pairs of points."""
    rows, columns = np.nonzero(np.triu(joined, 1))
    lengths = np.linalg.norm(points[rows] - points[columns], axis=1)
    graph = csr_array((lengths, (rows, columns)), shape=joined.shape)
    return dijkstra(graph, directed=False, indices=range(sources))[:, :sources]


def relative_error(sample, mesh):
    """The largest error of the mesh, as a share of the largest distance."""
    truth = sample.distances()
    return np.abs(mesh - truth).max() / truth.max()


def along_a_curve(geometry, side, sample, nodes):
    """A polyline through the sample and ``nodes`` more points."""
    ((low, high),) = geometry.domain(side)
    more = np.linspace(low, high, nodes, endpoint=geometry.name not in CLOSED)[:, None]
    coordinates = np.concatenate([sample.coordinates, more])
    order = np.argsort(coordinates[:, 0])
    joined = np.zeros((len(order), len(order)), dtype=bool)
    joined[order[:-1], order[1:]] = True
    if geometry.name in CLOSED:
        joined[order[-1], order[0]] = True
    points = geometry.points(coordinates, side=side)
    return shortest(points, joined | joined.T, len(sample))


@each(CURVES)
@SIDES
def test_curves_against_a_polyline(geometry, side):
    sample = part(geometry.sample(30, seed=1), side)
    meshes = [along_a_curve(geometry, side, sample, nodes) for nodes in (150, 300, 600)]
    errors = [relative_error(sample, mesh) for mesh in meshes]
    assert errors[2] < 5e-5
    assert errors[2] < errors[1] / 3 < errors[0] / 9  # each mesh twice as fine, errors a quarter
    for mesh in meshes:  # chords are never longer than their arcs
        assert (mesh <= sample.distances() + 1e-9).all()


def along_walls(points, corners, nodes):
    """Straight lines on each flat wall, from wall to wall through ``nodes`` points of each fold."""
    heights = np.linspace(-1, 1, nodes)
    folds = [np.column_stack([np.tile(c, (nodes, 1)), heights]) for c in corners]
    together = np.concatenate([points, *folds])
    on = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        across = np.array([b[1] - a[1], a[0] - b[0]])
        on.append(np.abs((together[:, :2] - a) @ across) < 1e-9)
    return shortest(together, np.any([np.outer(wall, wall) for wall in on], axis=0), len(points))


def corners(side):
    c = 13 if side is Side.PRIMARY else 11
    return np.array([[c / 1.2, 0], [0, c], [-c / 1.2, 0], [0, -c]])


@SIDES
def test_boxes_against_paths_over_their_folds(side):
    sample = part(FoldedBoxes().sample(40, seed=2), side)
    meshes = [along_walls(sample.points, corners(side), nodes) for nodes in (5, 17, 65)]
    errors = [relative_error(sample, mesh) for mesh in meshes]
    assert errors[2] < 1e-4
    assert errors[2] < errors[1] / 4 < errors[0] / 16  # each mesh four times as fine
    for mesh in meshes:  # a path over the walls is never shorter than the shortest
        assert (mesh >= sample.distances() - 1e-9).all()


def test_across_a_corner_the_box_is_unrolled():
    geometry, side = FoldedBoxes(), Side.PRIMARY
    wall = math.hypot(13, 13 / 1.2)
    # One unit from the corner (13 / 1.2, 0) on either wall, half a unit up and half down.
    near = np.array([[1.0, 0.5], [4 * wall - 1, -0.5]])
    points = geometry.points(near, side=side)
    assert points[0, 0] == pytest.approx(points[1, 0])
    assert points[0, 1] == pytest.approx(-points[1, 1])
    assert geometry.geodesic(near, side=side)[0, 1] == pytest.approx(math.hypot(2, 1))
    assert np.linalg.norm(points[0] - points[1]) < math.hypot(2, 1)
    # Half way round, by either way.
    far = np.array([[0.0, -1.0], [2 * wall, 1.0]])
    assert geometry.geodesic(far, side=side)[0, 1] == pytest.approx(math.hypot(2 * wall, 2))


def over_a_ball(points, radius, nodes):
    """Chords no longer than a reach that shrinks slower than the mesh."""
    k = np.arange(nodes) + 0.5
    height, around = 1 - 2 * k / nodes, np.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - height**2)
    even = np.stack([ring * np.cos(around), ring * np.sin(around), height], axis=1)
    together = np.concatenate([points, radius * even])
    joined = cdist(together, together) < 2.5 * radius * nodes**-0.25
    return shortest(together, joined, len(points))


@SIDES
def test_spheres_against_chords(side):
    sample = part(Spheres().sample(20, seed=3), side)
    radius = 10 if side is Side.PRIMARY else 20
    errors = [
        relative_error(sample, over_a_ball(sample.points, radius, nodes))
        for nodes in (100, 400, 1600)
    ]
    assert errors[2] < 0.006
    assert errors[2] < errors[1] / 1.8 < errors[0] / 3.2  # each mesh twice as fine


def test_spheres_by_hand():
    geometry = Spheres()
    places = np.array([[0, 0], [np.pi, 0], [np.pi / 2, 0], [np.pi / 2, 1e-9], [np.pi / 2, -3.0]])
    got = geometry.geodesic(places, side=Side.AUXILIARY) / 20
    assert got[0, 1] == pytest.approx(np.pi)
    assert got[0, 2] == pytest.approx(np.pi / 2)
    assert got[2, 3] == pytest.approx(1e-9, rel=1e-6)
    assert got[2, 4] == pytest.approx(3)


@pytest.mark.parametrize("name", CURVES)
@SIDES
def test_arc_lengths_against_adaptive_quadrature(name, side):
    geometry = GEOMETRIES[name]
    ((low, high),) = geometry.domain(side)

    def speed(t, h=1e-5):
        ends = geometry.points(np.array([[t - h], [t + h]]), side=side)
        return np.linalg.norm(ends[1] - ends[0]) / (2 * h)

    for t in np.linspace(low, high, 7):
        expected, _ = quad(speed, 0, t, epsrel=1e-10, limit=200)
        got = geometry.arc_length(np.array([t]), side=side)[0]
        assert got == pytest.approx(expected, rel=1e-8, abs=1e-8)


@each()
@SIDES
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_distance_is_one(geometry, side, data):
    domain = geometry.domain(side)
    place = st.tuples(*(st.floats(low, high) for low, high in domain))
    coordinates = np.array(data.draw(st.lists(place, min_size=3, max_size=3)))
    points = geometry.points(coordinates, side=side)
    for got in (
        geometry.geodesic(coordinates, side=side),
        geometry.published(coordinates, side=side),
    ):
        assert np.array_equal(got, got.T)
        assert (np.diag(got) == 0).all()
        assert (got >= 0).all()
        assert got[0, 2] <= got[0, 1] + got[1, 2] + 1e-9
    straight = cdist(points, points)
    assert (geometry.geodesic(coordinates, side=side) >= straight - 1e-6).all()


@each()
def test_near_points_are_as_far_as_a_straight_line(geometry):
    rng = np.random.default_rng(0)
    for side in Side:
        start = part(geometry.sample(20, seed=5), side).coordinates
        step = 1e-4 * rng.standard_normal(start.shape)
        for pair in np.stack([start, start + step], axis=1):
            a, b = geometry.points(pair, side=side)
            got = geometry.geodesic(pair, side=side)[0, 1]
            assert got == pytest.approx(np.linalg.norm(a - b), rel=1e-5)


@each()
def test_between_sides_there_is_no_path(geometry):
    sample = geometry.sample(5)
    for matrix in (sample.distances(), sample.published_distances()):
        assert np.isinf(matrix[:5, 5:]).all()
        assert np.isinf(matrix[5:, :5]).all()
        assert np.isfinite(matrix[:5, :5]).all()
        assert np.isfinite(matrix[5:, 5:]).all()
    assert sample.geodesic(1, 7) == math.inf
    assert sample.geodesic(7, 9) == pytest.approx(sample.distances()[7, 9])
    assert np.array_equal(sample.primary.distances(), sample.distances()[:5, :5])
    assert np.array_equal(sample.auxiliary.distances(), sample.distances()[5:, 5:])


# What was published instead


@each()
def test_the_published_distance_differs_where_there_is_a_proxy(geometry):
    sample = geometry.sample(30).primary
    assert np.array_equal(sample.distances(), sample.published_distances()) != bool(geometry.proxy)


@pytest.mark.parametrize("name", ["torus", "cycles"])
@SIDES
def test_the_published_angle_goes_the_short_way_round(name, side):
    t = np.array([[3.0], [-3.0], [0.0]])
    got = GEOMETRIES[name].published(t, side=side)
    assert got[0, 1] == pytest.approx(2 * np.pi - 6)
    assert got[0, 2] == got[1, 2] == 3


@pytest.mark.parametrize(
    ("name", "ratio"), [("double-helix", math.sqrt(3.25)), ("cycles", 10), ("cosines", None)]
)
def test_proxies_on_a_line(name, ratio):
    sample = GEOMETRIES[name].sample(10).primary
    off = ~np.eye(10, dtype=bool)
    got = (sample.distances() / np.where(off, sample.published_distances(), 1))[off]
    if ratio is None:  # the slope of a cosine is between 0 and 1
        assert 1 < got.min() < got.max() < math.sqrt(2)
    else:
        assert got == pytest.approx(ratio)


def test_the_proxy_of_the_torus_is_not_proportional():
    sample = GEOMETRIES["torus"].sample(100).primary
    off = np.triu_indices(100, 1)
    got = sample.distances()[off] / sample.published_distances()[off]
    assert math.hypot(7, 4) <= got.min() < 8.1
    assert 9.8 < got.max() <= math.hypot(9, 4)
