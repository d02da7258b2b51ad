"""Decoders of arrows: each formula by hand, rows that are pairs, finite gradients, and what direction they can tell."""

import math

import pytest
import torch

from qgcn import parse_space
from qgcn.nn import ARROW_DECODERS, OrientedForm, SourceTarget, arrow_decoder, halves_of
from qgcn.nn.arrow_decoders import free_coordinates

SPACES = ["E4", "H3", "S3", "Q2,2", "Q3,3", "Q0,4", "H2xS2", "Q2,2xE2", "M4", "AdS4", "dS4", "M1xH3", "K4"]


def points_of(space, count=9, dtype=torch.float32):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return space.expmap0(0.4 * torch.randn(count, space.ambient_dim, dtype=dtype)).detach()


def made(name, space, **options):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return arrow_decoder(name, space, **options)


def test_free_coordinates_are_as_many_as_dimensions():
    assert {name: free_coordinates(parse_space(name)).tolist() for name in ("E3", "H3", "Q2,2", "S2xE2", "M3", "Q2,2xH2")} == {
        "E3": [0, 1, 2],
        "H3": [1, 2, 3],
        "Q2,2": [1, 2, 3],
        "S2xE2": [1, 2, 3, 4],
        "M3": [0, 1, 2],
        "Q2,2xH2": [1, 2, 3, 5, 6],
    }
    for name in SPACES:
        assert len(free_coordinates(parse_space(name))) == parse_space(name).dim
    assert halves_of(parse_space("H5")).tolist() == [[1, 2], [3, 4]]  # the last is neither
    with pytest.raises(ValueError, match="a source and a target need at least 2 dimensions, got H1"):
        halves_of(parse_space("H1"))


@pytest.mark.parametrize("name", ARROW_DECODERS)
@pytest.mark.parametrize("space", SPACES)
def test_rows_are_pairs_and_a_reverse_is_another_pair(space, name):
    space = parse_space(space)
    points, decoder = points_of(space), made(name, space)
    nodes = torch.tensor([3, 0, 8])
    rows = decoder.rows(points, nodes, space)
    assert rows.shape == (3, 9)
    for row, node in zip(rows, nodes, strict=True):
        pairs = torch.stack((node.expand(9), torch.arange(9)))
        forth, back = (decoder.decode(points, each, space).detach() for each in (pairs, pairs.flip(0)))
        torch.testing.assert_close(row, forth, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(decoder(points[pairs[0]], points[pairs[1]], space), forth, rtol=1e-4, atol=1e-5)
        others = torch.arange(9) != node
        assert ((forth - back).abs()[others] > 1e-5).all()
    assert decoder.rows(points, nodes[:0], space).shape == (0, 9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ARROW_DECODERS)
@pytest.mark.parametrize("space", SPACES)
def test_gradients_are_finite_where_points_coincide_and_at_the_origin(space, name, dtype):
    space = parse_space(space)
    points = torch.cat((points_of(space, 8, dtype), space.expmap0(torch.zeros(1, space.ambient_dim, dtype=dtype))))
    points.requires_grad_()
    decoder = made(name, space).to(dtype)
    logits = decoder.decode(points, torch.tensor([[0, 8, 8, 1], [0, 8, 0, 2]]), space)
    assert logits.dtype == dtype
    gradients = torch.autograd.grad(logits.sum(), [points, *decoder.parameters()], allow_unused=True)
    assert all(bool(each.isfinite().all()) for each in gradients if each is not None)


def test_source_target_by_hand():
    space, decoder = parse_space("E4"), SourceTarget(parse_space("E4"))
    with torch.no_grad():
        decoder.values.copy_(torch.tensor([math.log(2), -1.0]))
    points = torch.tensor([[1.0, 2.0, 30.0, 40.0], [500.0, 600.0, 3.0, 5.0]])
    assert decoder.decode(points, torch.tensor([[0], [1]]), space).item() == pytest.approx(2 * (1 * 3 + 2 * 5) - 1)
    assert decoder.decode(points, torch.tensor([[1], [0]]), space).item() == pytest.approx(2 * (500 * 30 + 600 * 40) - 1)


def test_an_indefinite_product_with_an_orientation_contains_the_source_target_product():
    """Tangent coordinates (t, s) with as many times as places: sources t + s, targets s - t."""
    space = parse_space("Q3,4")
    decoder = OrientedForm(space)
    u, v = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(0))
    u[:, 0] = v[:, 0] = 0  # tangent at the origin
    product = ((u[:, 1:4] + u[:, 4:]) * (v[:, 4:] - v[:, 1:4])).sum(1)
    torch.testing.assert_close(decoder.read(u, v, None), product / math.sqrt(2))


def test_in_flat_space_an_oriented_form_is_a_hermitian_product():
    decoder = OrientedForm(parse_space("E6"))
    with torch.no_grad():
        decoder.values[2] = 0.3
    u, v = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))
    complex_u, complex_v = (torch.complex(each[:, :3], each[:, 3:]) for each in (u, v))
    turned = torch.polar(torch.tensor(1.0), torch.tensor(-0.3)) * complex_u.conj() * complex_v
    torch.testing.assert_close(decoder.read(u, v, None), turned.real.sum(1))


def test_interval_and_time_by_hand():
    space = parse_space("M3")
    decoder = made("interval", space)
    with torch.no_grad():
        decoder.values.copy_(torch.tensor([0.5, math.log(2)]))
        decoder.potential.weight.copy_(torch.tensor([[-1.0, 0.0, 0.0], [1.0, 0.0, 10.0]]))
    points = torch.tensor([[1.0, 2.0, 0.0], [4.0, 0.0, 1.0]])
    interval = (2.0**2 + 1.0**2) - 3.0**2
    expected = (0.5 - interval) / 2 + (4 - 1) + 10
    assert decoder.decode(points, torch.tensor([[0], [1]]), space).item() == pytest.approx(expected)


def test_three_fermi_dirac_functions_by_hand():
    space = parse_space("M3")
    decoder = made("triple", space)
    with torch.no_grad():
        decoder.values.copy_(torch.tensor([0.5, math.log(2), math.log(3), math.log(0.25 / 0.75), 1.0]))
        decoder.time.weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))
    points = torch.tensor([[1.0, 2.0, 0.0], [4.0, 0.0, 1.0]])

    def fermi(z):
        return 1 / (math.exp(z) + 1)

    product = fermi((5 - 9 - 0.5) / 2) * fermi(-3 / 3) * fermi(0.25 * 3 / 3)
    p = fermi(-1) * product ** (1 / 3)
    assert decoder.decode(points, torch.tensor([[0], [1]]), space).item() == pytest.approx(math.log(p / (1 - p)), rel=1e-5)


def test_a_sure_triple_has_a_finite_logit():
    space = parse_space("M3")
    decoder = made("triple", space)
    with torch.no_grad():
        decoder.values.copy_(torch.tensor([1e4, -5.0, -9.0, -200.0, 200.0]))
        decoder.time.weight.fill_(1.0)
    points = torch.tensor([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], requires_grad=True)
    logit = decoder.decode(points, torch.tensor([[0], [1]]), space).sum()
    assert logit.isfinite()
    assert all(bool(each.isfinite().all()) for each in torch.autograd.grad(logit, [points, decoder.values]))


def test_a_network_reads_products_interval_and_times():
    space = parse_space("Q2,3")
    points, decoder = points_of(space), made("joint", space)
    i, j = pairs = torch.tensor([[0, 3, 8], [1, 3, 2]])
    u, q = space.logmap0(points), space.interval(points[i], points[j])
    first, second, time = decoder.potential.weight
    columns = [u[i][:, [1, 2]] * u[j][:, [3, 4]], (q.sign() * (1 + q.abs()).log())[:, None]]
    columns += [each[:, None] for each in ((u[j] - u[i]) @ time, u[i] @ first, u[j] @ second)]
    torch.testing.assert_close(decoder.decode(points, pairs, space), decoder.network(torch.cat(columns, dim=1)).squeeze(1))


def test_hidden_units_are_dropped_in_training_alone():
    space = parse_space("E4")
    points, decoder, pairs = points_of(space), made("joint", space, dropout=0.5), torch.tensor([[0, 1], [2, 3]])
    kept = made("joint", space).decode(points, pairs, space)
    assert not torch.equal(decoder.decode(points, pairs, space), kept)
    assert torch.equal(decoder.eval().decode(points, pairs, space), kept)


def test_an_unknown_name_is_refused():
    with pytest.raises(
        ValueError, match="unknown decoder 'arrow': expected one of joint, source-target, oriented, interval, triple"
    ):
        arrow_decoder("arrow", parse_space("E4"))
