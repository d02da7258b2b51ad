"""Both ways to train have all that a run asks for."""

import inspect

import pytest
from torch_geometric.data import Data

from cases import problem
from qgcn import data
from qgcn.tasks import Reconstruction
from qgcn.training import Trainer
from qgcn.training.blocks import BlockTrainer, training_of
from qgcn.training.machine import fabric_of
from qgcn.training.training import Training

NAMES = {*Training.__annotations__, *(name for name in vars(Training) if not name.startswith("_"))}


@pytest.mark.parametrize(("blocks", "kind"), [(1, Trainer), (3, BlockTrainer)])
def test_a_training_has_all_that_a_run_asks_for(blocks, kind):
    graph = Data(edge_index=data.ring_of_trees(32, 2, 1), num_nodes=96)
    task = problem(Reconstruction, graph, model="shallow", space="H3", blocks=blocks)
    found = training_of(task, [0], fabric_of(task.config), None, None)
    assert type(found) is kind
    for name in sorted(NAMES):
        assert hasattr(found, name), name
        expected, given = vars(Training).get(name), getattr(kind, name, None)
        if inspect.isfunction(expected):
            names = list(inspect.signature(expected).parameters)
            assert list(inspect.signature(given).parameters) == names, name
    assert found.best_epoch.tolist() == [0]
    assert found.parts == blocks * (blocks + 1) // 2
