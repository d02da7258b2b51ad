"""Dropout that is a function of a key."""

import math

import pytest
import torch
from torch import nn

from qgcn.nn import Dropout, SparseMatrix, dropout_keys, mixed_key
from tolerance import DTYPES


def model(p=0.5):
    return nn.Sequential(Dropout(p), nn.Identity(), Dropout(p))


def keyed(seed=0, step=0, p=0.5, size=(40, 8), dtype=torch.float32):
    """Return what both layers of a model make of ones."""
    net = model(p).train()
    keys = dropout_keys(net, seed, step)
    ones = torch.ones(size, dtype=dtype)
    return [torch.func.functional_call(net[i], {"key": keys[f"{i}.key"]}, (ones,)) for i in (0, 2)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_keys_draw_alike_and_others_differ(dtype):
    first, second = keyed(dtype=dtype)
    assert first.dtype == dtype
    again, _ = keyed(dtype=dtype)
    assert torch.equal(first, again)
    for other in (second, keyed(seed=1)[0], keyed(step=1)[0]):
        # two independent draws agree on half of 320 entries; four deviations off is another story
        agree = (first == other).sum().item()
        assert abs(agree - 160) < 4 * math.sqrt(80)
    assert torch.equal(keyed(dtype=torch.float64)[0].float(), keyed(dtype=torch.float32)[0])


def test_keyed_draws_leave_the_global_generator_alone_and_do_not_depend_on_it():
    torch.manual_seed(0)
    state = torch.get_rng_state()
    first = keyed()[0]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(1)
    assert torch.equal(keyed()[0], first)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_the_share_kept_is_close_to_what_was_asked_for_and_the_rest_is_scaled(p):
    count = 200_001  # not a multiple of four
    dropped, _ = keyed(p=p, size=(count,), dtype=torch.float64)
    kept = dropped != 0
    assert abs(kept.sum().item() - (1 - p) * count) < 4 * math.sqrt(p * (1 - p) * count)
    torch.testing.assert_close(dropped[kept], torch.full((int(kept.sum()),), 1 / (1 - p), dtype=torch.float64))
    # neighbours have nothing in common: four decisions come from one random word
    for lag in (1, 2, 3, 4):
        both = (kept[lag:] & kept[:-lag]).double().mean().item()
        assert abs(both - (1 - p) ** 2) < 6 * math.sqrt(p / count)


@pytest.mark.parametrize("p", [1e-6, 1e-9])
def test_hardly_any_dropout_keeps_nearly_everything(p):
    assert (keyed(p=p, size=(1000,))[0] != 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [None, 0, 1])
def test_a_batch_draws_bit_for_bit_what_each_would_draw_alone(place, dtype):
    net = model(0.3).train()
    seeds = [4, 0, 17]
    keys = dropout_keys(net, seeds, 5)
    u = torch.randn(7, 5, dtype=dtype) if place is None else torch.randn(3, 7, 5, dtype=dtype)
    given = u if place in (None, 0) else u.movedim(0, place)

    def one(keys, u):
        return torch.func.functional_call(net, keys, (u,))

    together = torch.vmap(one, in_dims=(0, place))(keys, given)
    for k, seed in enumerate(seeds):
        alone = one(dropout_keys(net, seed, 5), u if place is None else u[k])
        assert torch.equal(together[k], alone)


def test_gradients_of_a_batch_pass_where_coordinates_were_kept():
    layer = Dropout(0.5).train()
    keys = dropout_keys(layer, [1, 2], 0)
    u = torch.ones(2, 50, requires_grad=True)
    dropped = torch.vmap(lambda keys, u: torch.func.functional_call(layer, keys, (u,)))(keys, u)
    (gradient,) = torch.autograd.grad(dropped.sum(), u)
    assert torch.equal(gradient, dropped.detach())
    assert (gradient == 0).any()


def test_without_a_key_it_draws_as_torch_does():
    u = torch.randn(20, 6)
    ours, theirs = Dropout(0.4).train(), nn.Dropout(0.4).train()
    torch.manual_seed(3)
    expected = theirs(u)
    torch.manual_seed(3)
    assert torch.equal(ours(u), expected)


def test_in_evaluation_and_without_dropping_it_is_the_identity():
    u = torch.randn(4, 3)
    assert Dropout(0.9).eval()(u) is u
    assert Dropout(0.0).train()(u) is u
    layer = Dropout(0.9).eval()
    layer.key = torch.tensor(1)
    assert layer(u) is u


def test_of_a_sparse_matrix_entries_are_dropped_those_that_would_be_dropped_in_the_whole():
    layer = Dropout(0.5).train()
    layer.key = torch.tensor(4)
    matrix = SparseMatrix.of(torch.rand(9, 6).relu() + 0.1)
    dropped = layer(matrix)
    assert dropped.structure is matrix.structure
    assert torch.equal(dropped.values, layer(matrix.values))
    rows = torch.tensor([7, 0, 3])
    assert torch.equal(layer(matrix.rows(rows)).to_dense(), dropped.to_dense()[rows])
    assert layer.eval()(matrix) is matrix


def test_keys_are_not_part_of_the_state():
    layer = Dropout(0.5)
    layer.key = torch.tensor(1)
    assert layer.state_dict() == {}


def test_dropout_keys_name_every_layer_and_differ_between_layers_seeds_and_steps():
    net = nn.Sequential(nn.ModuleDict({"a": Dropout(0.1), "b": Dropout(0.0)}), nn.Linear(2, 2), Dropout(0.2))
    assert list(dropout_keys(net, 0, 0)) == ["0.a.key", "0.b.key", "2.key"]
    drawn = [int(key) for seed in range(5) for step in range(5) for key in dropout_keys(net, seed, step).values()]
    assert len(set(drawn)) == 75
    many = dropout_keys(net, [3, 8], 2)
    assert all(key.shape == (2,) for key in many.values())
    assert {name: int(key[1]) for name, key in many.items()} == {k: int(v) for k, v in dropout_keys(net, 8, 2).items()}
    assert dropout_keys(nn.Linear(2, 2), 0, 0) == {}


def test_mixed_key_is_splitmix64_with_one_bit_less():
    assert mixed_key(0) == 0xE220A8397B1DCDAF >> 1  # the first number of SplitMix64 from the state 0
    assert mixed_key(1, 2) != mixed_key(2, 1)
    keys = [mixed_key(seed, step) for seed in range(-3, 30) for step in range(30)]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**63 for key in keys)
    ones = sum(key.bit_count() for key in keys) / len(keys)
    assert abs(ones - 31.5) < 4 * math.sqrt(63 / 4 / len(keys))


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
def test_a_probability_out_of_range_is_refused(p):
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\), got"):
        Dropout(p)


def test_repr_shows_the_probability():
    assert repr(Dropout(0.25)) == "Dropout(p=0.25)"
