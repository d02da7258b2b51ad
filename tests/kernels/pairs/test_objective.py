import math

import geoopt
import pytest
import torch

from cases import awkward_pairs, generator
from qgcn import geometry, parse_space
from qgcn.data import ring_of_trees
from qgcn.kernels import Neighbourhoods, distortion_loss, reconstruction_loss
from qgcn.kernels.pairs import neighbourhoods
from tolerance import DTYPES

NAMES = ("E5", "H4", "S4", "K4", "Q3,3", "Q0,5", "Q4,1", "H2xS2", "Q2,2xE2")
DENOMINATORS = ("negatives", "others", "paper")
CLOSE = {torch.float32: {"rtol": 2e-5, "atol": 2e-5}, torch.float64: {"rtol": 1e-12, "atol": 1e-12}}


def draw(space, n, dtype=torch.float64, std=0.5, seed=0):
    x = space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(seed))
    return x.detach().as_subclass(torch.Tensor)


def naive(x, edges, manifold, *, temperature=1.0, squared=True, denominator="negatives", balance=False):
    """The definition, edge by edge, in Python numbers."""
    dist = manifold.pairwise_dist(x).double()
    energy = (temperature * (dist.square() if squared else dist)).tolist()
    neighbours = {}
    for u, v in edges.T.tolist():
        if u != v:
            neighbours.setdefault(u, set()).add(v)
    costs = {}
    for u, around in neighbours.items():
        others = [w for w in range(len(x)) if w != u]
        negatives = [w for w in others if w not in around]
        for v in around:
            against = {"negatives": [v, *negatives], "others": others, "paper": negatives}[denominator]
            total = sum(math.exp(-energy[u][w]) for w in against)
            cost = energy[u][v] + math.log(total) if negatives or denominator == "others" else 0.0
            costs.setdefault(u, []).append(cost)
    means = [sum(each) / len(each) for each in costs.values()]
    return sum(means) / len(means) if balance else sum(map(sum, costs.values())) / sum(map(len, costs.values()))


EDGES = torch.tensor([[0, 0, 1, 2, 2, 2, 2, 2, 2, 4, 5, 5, 5, 6], [1, 2, 0, 0, 1, 3, 4, 5, 6, 5, 4, 4, 5, 2]])
"""Seven nodes: 2 is joined to all others, 3 has no edge of its own, one edge is given twice, one is a loop."""


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_reconstruction_loss_is_its_definition(name, dtype, denominator, squared, balance):
    space = parse_space(name)
    x = draw(space, 7, dtype)
    options = {"temperature": 1.7, "squared": squared, "denominator": denominator, "balance": balance}
    loss = reconstruction_loss(x, EDGES, space, **options)
    assert loss.dtype == dtype
    assert loss.shape == ()
    torch.testing.assert_close(loss.double().item(), naive(x, EDGES, space, **options), **CLOSE[dtype])


def test_reconstruction_loss_by_hand():
    space = parse_space("E1")
    x = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    edge = torch.tensor([[0], [1]])
    near, far = math.exp(-1), math.exp(-9)
    assert reconstruction_loss(x, edge, space).item() == pytest.approx(-math.log(near / (near + far)), rel=1e-13)
    assert reconstruction_loss(x, edge, space, denominator="paper").item() == pytest.approx(1 - 9, rel=1e-13)
    near, far = math.exp(-2), math.exp(-6)
    loss = reconstruction_loss(x, edge, space, squared=False, temperature=2, denominator="others")
    assert loss.item() == pytest.approx(-math.log(near / (near + far)), rel=1e-13)


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("name", ["E4", "Q2,3", "H2xS2"])
def test_chunks_change_neither_values_nor_gradients(name, denominator, balance, monkeypatch):
    space = parse_space(name, learnable=True)
    edges = ring_of_trees(4, 2, 2)
    x = draw(space, int(edges.max()) + 1).requires_grad_()
    temperature = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    leaves = [x, temperature, *space.parameters()]

    def run():
        options = {"temperature": temperature, "denominator": denominator, "balance": balance}
        loss = reconstruction_loss(x, edges, space, **options)
        return loss, *torch.autograd.grad(loss, leaves)

    whole = run()
    for rows in (1, 5):
        monkeypatch.setattr(neighbourhoods, "CHUNK_ENTRIES", rows * len(x))
        torch.testing.assert_close(run(), whole, rtol=1e-11, atol=1e-13)


def test_chunks_bound_the_memory_kept_for_the_gradient(monkeypatch):
    space = parse_space("Q2,2")
    edges = ring_of_trees(20, 2, 3)
    x = draw(space, int(edges.max()) + 1).requires_grad_()
    sizes = []

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        reconstruction_loss(x, edges, space)
        assert sum(sizes) > len(x) ** 2
        sizes.clear()
        monkeypatch.setattr(neighbourhoods, "CHUNK_ENTRIES", 3 * len(x))
        reconstruction_loss(x, edges, space)
    assert sum(sizes) <= x.numel() + edges.shape[1] * 6 * space.ambient_dim  # a few numbers a coordinate of each edge


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("name", ["E3", "Q2,2", "Q0,4", "H2xS2"])
def test_reconstruction_loss_gradcheck(name, denominator, squared, monkeypatch):
    space = parse_space(name, learnable=True)
    x = draw(space, 7).requires_grad_()
    temperature = torch.tensor([1.3], dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(neighbourhoods, "CHUNK_ENTRIES", 3 * 7)

    def loss(x, temperature, *_):
        options = {"temperature": temperature, "squared": squared, "denominator": denominator}
        return reconstruction_loss(space.projx(x), EDGES, space, **options)

    assert torch.autograd.gradcheck(loss, (x, temperature, *space.parameters()), eps=1e-6, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize(("s", "t"), [(0, 4), (4, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_finite_at_coincident_null_and_disconnected_pairs(dtype, s, t, denominator, squared):
    # sixty points of which many coincide, are null-separated, antipodal or far out, all joined to their partner
    x, y = awkward_pairs(20, s, t, -1.0, dtype)
    space = parse_space(f"Q{s},{t}", learnable=True)
    points = torch.cat((x, y)).requires_grad_()
    ends = torch.arange(len(points))
    edges = torch.stack((ends, ends.roll(len(x))))
    loss = reconstruction_loss(points, edges, space, denominator=denominator, squared=squared)
    gradients = torch.autograd.grad(loss, [points, *space.parameters()])
    assert loss.isfinite()
    for gradient in gradients:
        assert gradient.isfinite().all()


@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_if_all_points_coincide(name, denominator):
    space = parse_space(name, learnable=True)
    x = space.origin(7, space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor).detach().requires_grad_()
    loss = reconstruction_loss(x, EDGES, space, denominator=denominator)
    (gradient,) = torch.autograd.grad(loss, x)
    assert gradient.isfinite().all()
    torch.testing.assert_close(loss.item(), naive(x.detach(), EDGES, space, denominator=denominator))


def test_an_edge_without_negatives_costs_nothing_and_pulls_nowhere():
    space = parse_space("Q1,2")
    x = draw(space, 3).requires_grad_()
    complete = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    for denominator in ("negatives", "paper"):
        with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
            loss = reconstruction_loss(x, complete, space, denominator=denominator)
            (gradient,) = torch.autograd.grad(loss, x)
        assert loss == 0
        assert (gradient == 0).all()
    assert reconstruction_loss(x, complete, space, denominator="others") > 0


def test_large_margins_are_exact():
    # softplus is replaced by its argument beyond 20, with an error of 2e-9
    space = parse_space("E1")
    x = torch.tensor([[0.0], [5.0], [2.0]], dtype=torch.float64)
    loss = reconstruction_loss(x, torch.tensor([[0], [1]]), space)
    assert loss.item() == pytest.approx(21 + math.log1p(math.exp(-21)), rel=1e-15)
    assert loss.item() > 21


def test_isometries_and_the_order_of_nodes_do_not_matter():
    space = parse_space("Q3,3")
    edges = ring_of_trees(4, 2, 2)
    x = draw(space, int(edges.max()) + 1)
    loss = reconstruction_loss(x, edges, space, balance=True)
    turn = geometry.random_isometry(3, 3, dtype=torch.float64, generator=generator(3))
    moved = geometry.apply_isometry(turn, x, time_dim=3)
    torch.testing.assert_close(reconstruction_loss(moved, edges, space, balance=True), loss, rtol=1e-9, atol=0)
    order = torch.randperm(len(x), generator=generator(1))
    place = torch.argsort(order)
    shuffled = place[edges][:, torch.randperm(edges.shape[1], generator=generator(2))]
    torch.testing.assert_close(reconstruction_loss(x[order], shuffled, space, balance=True), loss, rtol=1e-12, atol=0)


def test_denominators_are_ordered_and_only_the_papers_is_unbounded():
    space = parse_space("E2")
    edges = torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]])
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]], dtype=torch.float64)
    negatives, others, paper = (reconstruction_loss(x, edges, space, denominator=each).item() for each in DENOMINATORS)
    assert paper < negatives < others
    x[3] = 1000.0
    assert reconstruction_loss(x, edges, space).item() >= 0
    assert reconstruction_loss(x, edges, space, denominator="paper").item() < -1e6


def test_prepared_neighbourhoods_give_the_same_loss():
    space = parse_space("Q2,2")
    x = draw(space, 7)
    prepared = Neighbourhoods.of(EDGES, 7)
    assert reconstruction_loss(x, prepared, space, balance=True) == reconstruction_loss(x, EDGES, space, balance=True)
    with pytest.raises(ValueError, match="one point for each of the graph's 7 nodes, got 6"):
        reconstruction_loss(x[:6], prepared, space)


def test_an_optimiser_of_geoopt_can_follow_it():
    space = parse_space("Q3,2", learnable=True)
    edges = ring_of_trees(4, 2, 1)
    points = geoopt.ManifoldParameter(draw(space, int(edges.max()) + 1, std=0.2), manifold=space)
    optimiser = geoopt.optim.RiemannianAdam([points], lr=0.05)
    first = reconstruction_loss(points, edges, space).item()
    for _ in range(30):
        optimiser.zero_grad()
        reconstruction_loss(points, edges, space).backward()
        optimiser.step()
    assert reconstruction_loss(points, edges, space).item() < first / 2


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": [[1.0]]}, TypeError, "x must be a torch.Tensor, got list"),
        ({"x": torch.ones(3, 2, dtype=torch.float16)}, TypeError, "x must be float32 or float64, got torch.float16"),
        ({"x": torch.ones(3)}, ValueError, r"x must have shape \(N, d\) .* got \(3,\)"),
        ({"x": torch.full((3, 2), math.nan)}, ValueError, "x must be finite, got NaN or infinity in 3 of 3 points"),
        ({"x": torch.tensor([[1.0, math.inf], [0.0, 0.0]])}, ValueError, "x must be finite, got NaN or infinity in 1 of 2"),
        ({"edge_index": torch.tensor([[0], [3]])}, ValueError, r"edge_index must lie in \[0, 3\)"),
        ({"edge_index": torch.zeros(2, 0, dtype=torch.long)}, ValueError, "edge_index must have at least one column"),
        ({"edge_index": "graph"}, TypeError, "edge_index must be a torch.Tensor or Neighbourhoods, got str"),
        ({"temperature": 0.0}, ValueError, "temperature must be positive and finite, got 0.0"),
        ({"temperature": -1}, ValueError, "temperature must be positive and finite, got -1"),
        ({"temperature": math.nan}, ValueError, "temperature must be positive and finite, got nan"),
        ({"temperature": True}, TypeError, "temperature must be a number or a tensor, got bool"),
        ({"temperature": torch.ones(2)}, ValueError, r"temperature must have one element, got shape \(2,\)"),
        ({"manifold": parse_space("S1")}, ValueError, "x must be points of S1: <x, x> is not -1"),
        ({"manifold": parse_space("H1")}, ValueError, "x must be points of H1: x is not on the upper sheet"),
        ({"manifold": parse_space("E3")}, ValueError, r"3 coordinates in E3, got shape \(3, 2\)"),
        ({"denominator": "all"}, ValueError, "denominator must be one of negatives, others, paper, got 'all'"),
    ],
)
def test_reconstruction_loss_refuses(change, error, message):
    arguments = {"x": torch.zeros(3, 2), "edge_index": torch.tensor([[0], [1]]), "manifold": parse_space("E2"), **change}
    with pytest.raises(error, match=message):
        reconstruction_loss(**arguments)


# --- distortion ------------------------------------------------------------------------------------------------------


def test_distortion_loss_by_hand():
    x = torch.tensor([[0.0], [1.0], [3.0]])
    pairs = torch.tensor([[0, 1, 0], [1, 2, 2]])
    loss = distortion_loss(x, pairs, torch.tensor([1, 1, 2]), parse_space("E1"))
    assert loss.item() == pytest.approx((0 + 3 + 1.25) / 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_distortion_loss_is_its_definition(name, dtype):
    space = parse_space(name)
    x = draw(space, 9, dtype)
    pairs = torch.triu_indices(9, 9, 1)
    steps = torch.randint(1, 5, (36,), generator=generator(1))
    dist = space.pairwise_dist(x)[pairs[0], pairs[1]]
    expected = ((dist / steps).square() - 1).abs().mean()
    loss = distortion_loss(x, pairs, steps, space)
    assert loss.dtype == dtype
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(distortion_loss(x, pairs, dist, space), torch.zeros((), dtype=dtype), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "Q2,2", "Q0,4", "H2xS2"])
def test_distortion_loss_gradcheck(name):
    space = parse_space(name, learnable=True)
    x = draw(space, 6).requires_grad_()
    pairs, steps = torch.triu_indices(6, 6, 1), torch.arange(1, 16)

    def loss(x, *_):
        return distortion_loss(space.projx(x), pairs, steps, space)

    assert torch.autograd.gradcheck(loss, (x, *space.parameters()), eps=1e-6, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("s", "t"), [(0, 4), (4, 1), (2, 2), (1, 3)])
def test_distortion_loss_has_finite_gradients_at_awkward_pairs(s, t):
    x, y = awkward_pairs(40, s, t, -1.0, torch.float32)
    points = torch.cat((x, y)).requires_grad_()
    pairs = torch.arange(len(points)).view(2, -1)
    loss = distortion_loss(points, pairs, torch.ones(len(x)), parse_space(f"Q{s},{t}"))
    (gradient,) = torch.autograd.grad(loss, points)
    assert loss.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_distortion_loss_of_coincident_points_is_one(name):
    space = parse_space(name)
    x = space.origin(4, space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor).detach().requires_grad_()
    loss = distortion_loss(x, torch.tensor([[0, 1], [2, 3]]), torch.tensor([1.0, 2.0]), space)
    assert loss.item() == pytest.approx(1)
    assert torch.autograd.grad(loss, x)[0].isfinite().all()


@pytest.mark.parametrize(
    ("pairs", "distance", "error", "message"),
    [
        (torch.tensor([[0], [3]]), torch.ones(1), ValueError, r"pairs must lie in \[0, 3\)"),
        (torch.zeros(2, 0, dtype=torch.long), torch.ones(0), ValueError, "pairs must have at least one column"),
        (torch.tensor([[0], [1]]), torch.ones(2), ValueError, r"graph_distance must have shape \(1,\), got \(2,\)"),
        (
            torch.tensor([[0], [1]]),
            torch.zeros(1),
            ValueError,
            "graph_distance must be positive and finite, got a minimum of 0",
        ),
        (torch.tensor([[0], [1]]), torch.full((1,), math.inf), ValueError, "graph_distance must be positive and finite"),
        (torch.tensor([[0], [1]]), [1.0], TypeError, "graph_distance must be a torch.Tensor, got list"),
    ],
)
def test_distortion_loss_refuses(pairs, distance, error, message):
    with pytest.raises(error, match=message):
        distortion_loss(torch.zeros(3, 2), pairs, distance, parse_space("E2"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_on_a_gpu_values_agree_and_nothing_waits(denominator):
    edges = ring_of_trees(6, 2, 2)
    here, there = parse_space("Q2,3"), parse_space("Q2,3").cuda()
    x = draw(here, int(edges.max()) + 1)
    expected = reconstruction_loss(x, edges, here, denominator=denominator, balance=True)
    points, prepared = x.cuda().requires_grad_(), Neighbourhoods.of(edges.cuda(), len(x))

    def run():
        loss = reconstruction_loss(points, prepared, there, denominator=denominator, balance=True)
        return loss, torch.autograd.grad(loss, points)

    run()  # the first call may load kernels
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss, _ = run()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(loss.cpu(), expected, rtol=1e-8, atol=1e-8)
