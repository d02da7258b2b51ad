"""How processes become one run; what they do together is tested in ``test_launching.py`` of the command line."""

import pytest
import torch

from cases import problem, two_communities
from qgcn.data import read_graph, tree
from qgcn.files import tensor_bytes
from qgcn.tasks import DirectedReconstruction, NodeClassification, Reconstruction
from qgcn.training import Config, Run, Trainer
from qgcn.training.joining import begin_together, join
from qgcn.training.origin import fingerprint_of


class Two:
    """The second of two processes, which hears what it is given."""

    alone, rank, count = False, 1, 2

    def __init__(self, told):
        self.told = told

    def from_first(self, content):
        return self.told

    def agree(self, wish):
        return wish


def test_processes_need_mini_batches_or_rows_to_share():
    whole = problem(NodeClassification, two_communities(), space="Q3,2")
    with pytest.raises(ValueError, match="several processes train this task on mini-batches: give a batch size"):
        join(whole, Two(b""))
    rows = problem(Reconstruction, two_communities(), space="Q3,2")
    join(rows, Two(fingerprint_of(rows.data, rows.split).encode()))


def test_what_cannot_be_shared_is_said():
    arrows = DirectedReconstruction.of(read_graph([(k, (k * 7 + 1) % 40) for k in range(40)]))
    with pytest.raises(ValueError, match="have nothing to share of directed-reconstruction: leave out devices and nodes"):
        join(arrows, Two(b""))
    blocks = problem(Reconstruction, read_graph(tree(3, 4)), space="Q3,2", model="shallow", blocks=2)
    with pytest.raises(ValueError, match="blocks of nodes are trained by one process: leave out blocks"):
        join(blocks, Two(b""))
    rows = problem(Reconstruction, read_graph(tree(3, 4)), space="Q3,2", model="shallow", negatives="32")
    join(rows, Two(fingerprint_of(rows.data, rows.split).encode()))


def test_processes_must_have_read_the_same_graph():
    task = problem(NodeClassification, two_communities(), space="Q3,2", batch_size=5)
    join(task, Two(fingerprint_of(task.data, task.split).encode()))
    with pytest.raises(ValueError, match="a process has read another graph, or drawn another split, than the first one"):
        join(task, Two(b"another"))


def test_a_process_begins_where_the_first_one_does():
    settings = {"task": "classification", "data": "stochastic-block", "space": "Q3,2", "batch_size": 50, "device": "cpu"}
    run = Run(Config.checked(settings))
    first, second = (Trainer(run.task, [0], run.fabric) for _ in range(2))
    first.run(until=lambda: first.step == 2)
    tensors, about = first.state()
    second.processes = Two(tensor_bytes(tensors, about))
    begin_together(second, None)
    assert (second.epoch, second.step) == (0, 2)
    assert all(torch.equal(tensor, first.state()[0][name]) for name, tensor in second.state()[0].items())
    second.processes = Two(b"")
    begin_together(second, None)
    assert second.step == 2
