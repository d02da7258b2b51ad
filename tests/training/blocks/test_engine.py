"""Steps on blocks: the parts of an epoch are the whole objective; two blocks at most are on the device."""

import pytest
import torch
from torch_geometric.data import Data

from cases import generator, problem
from qgcn.kernels import reconstruction_loss
from qgcn.tasks import Reconstruction
from qgcn.training.blocks import BlockEngine, BlockGraph, BlockStore


def made(blocks, space="Q2,2", seed=0, groups=None, **settings):
    edges = torch.randint(0, 62, (2, 200), generator=generator(1))
    options = {"model": "shallow", "space": space, "blocks": 2, "negatives": "32", "lr": 0.05, **settings}
    task = problem(Reconstruction, Data(edge_index=torch.cat((edges, edges.flip(0)), 1), num_nodes=64), **options)
    division, whole = task.division, task.neighbourhoods
    graph = BlockGraph.of(whole.source, whole.target, 64, blocks, seed)
    store = BlockStore(None, "seed-0", in_memory=True)
    torch.manual_seed(0)
    shared = division.build(1)
    engine = BlockEngine(
        graph,
        task.config,
        seed,
        torch.device("cpu"),
        store,
        shared,
        division.build,
        groups=groups or blocks,
        balance=division.balance,
    )
    engine.start()
    return engine, task


@pytest.mark.parametrize("balance", [True, False])
def test_one_block_with_all_its_nodes_drawn_is_the_exact_objective(balance):
    engine, task = made(1, balance=balance, precision="float64")
    engine.shared.double()
    points = engine.embedding(engine.store.get)
    tau = engine.shared.log_temperature.exp().detach()
    exact = reconstruction_loss(points, task.neighbourhoods, engine.encoder.space, temperature=tau, balance=balance)
    found = engine.step(0, ((0,), (0,)), 64, 1.0)
    torch.testing.assert_close(found, exact.detach(), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("blocks", "groups"), [(2, 2), (5, 5), (7, 3), (12, 1)])
def test_parts_of_an_epoch_hold_every_edge_once_and_its_share(blocks, groups):
    engine, task = made(blocks, groups=groups)
    assert len(engine.tour(0)) == groups * (groups + 1) // 2
    share, edges = 0.0, 0
    for pair in engine.tour(0):
        for part in engine._parts(0, pair, 8):
            share += part.share.double().sum().item()
            edges += part.edges.shape[1]
            rows, columns = part.negatives.rows, part.negatives.columns
            assert rows.start <= part.edges[0].min() <= part.edges[0].max() < rows.stop
            if pair[0] != pair[1]:  # negatives are where the edges lead to
                assert not set(columns.tolist()) & set(rows)
            assert len(columns.unique()) == 8
    assert edges == task.neighbourhoods.num_edges
    assert share == pytest.approx(1, abs=1e-6)


def test_two_groups_at_most_are_on_the_device():
    engine, _ = made(6, groups=3)
    for pair in engine.tour(0):
        engine.step(0, pair, 8, 1.0)
        assert set(engine._here) == set(pair[0] + pair[1])
        assert len(engine._here) <= 4


def test_steps_lower_the_objective_and_leave_other_blocks_alone():
    engine, task = made(3, space="H4")

    def exact():
        points = engine.embedding(engine.store.get)
        tau = engine.shared.log_temperature.exp().detach()
        return reconstruction_loss(points, task.neighbourhoods, engine.encoder.space, temperature=tau, balance=True)

    before = exact()
    for epoch in range(30):
        for pair in engine.tour(epoch):
            others = [block for block in range(3) if block not in pair[0] + pair[1]]
            engine.fetch(*dict.fromkeys(pair[0] + pair[1]))
            kept = [engine.store.get(block)["coordinates"].clone() for block in others]
            engine.step(epoch, pair, 16, 1.0)
            for block, old in zip(others, kept, strict=True):
                assert torch.equal(engine.store.get(block)["coordinates"], old)
    engine.settle()
    assert exact() < 0.75 * before


def test_moments_travel_with_their_block():
    engine, _ = made(3)
    engine.step(0, ((0,), (1,)), 8, 1.0)
    engine.fetch(1, 2)
    kept = engine.store.get(0)
    assert kept["step"] == 1
    assert kept["exp_avg"].abs().sum() > 0
    (block,) = engine.fetch(0)
    state = block.optimiser.state[block.parameter]
    assert all(torch.equal(state[name], kept[name]) for name in ("step", "exp_avg", "exp_avg_sq"))
    assert engine.store.get(2)["step"] == 0
