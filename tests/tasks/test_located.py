"""Models of coordinates alone: they know the nodes that they were trained on."""

import pytest

from qgcn.data import read_graph
from qgcn.tasks import DirectedReconstruction, Entailment

TREE = [(f"n{(child - 1) // 3}", f"n{child}") for child in range(1, 60)]


@pytest.mark.parametrize("kind", [Entailment, DirectedReconstruction])
def test_points_are_those_of_the_nodes_by_name(kind):
    task = kind.of(read_graph(TREE), space="M3")
    predictor = task.build_predictor().eval()
    points = task.embed(predictor)
    part = task.changed(read_graph(TREE[30:] + TREE[:29]))  # without the last child but one of the first thirty
    names = [*part.source.node_ids]
    assert len(names) < len(points)
    place = {name: k for k, name in enumerate(task.source.node_ids)}
    for name, point in zip(names, part.embed(predictor), strict=True):
        assert point.tolist() == points[place[name]].tolist()
    more = task.changed(read_graph([*TREE, ("n0", "new")]))
    with pytest.raises(ValueError, match="new"):
        more.embed(predictor)


@pytest.mark.parametrize("kind", [Entailment, DirectedReconstruction])
def test_coordinates_use_no_features_and_networks_do(kind):
    given = read_graph(TREE)
    assert kind.of(given, space="M3").features_used() == "no"
    assert kind.of(given, space="M3", model="qgcn").features_used() == "one-hot"
