"""Decoders of pairs: rows agree with pairs, time counts negative, gradients are finite, names are known."""

import pytest
import torch

from qgcn import parse_space
from qgcn.nn import BilinearForm, InnerProduct, SquaredDistance, pair_decoder

PLAIN = ("squared-distance", "distance", "product", "bilinear")
SPACES = ["E4", "H3", "S3", "Q2,2", "Q3,1", "Q0,4", "H2xS2", "Q2,2xE2"]


def points_of(space, count=9):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return space.expmap0(0.4 * torch.randn(count, space.ambient_dim)).detach()


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("space", SPACES)
def test_rows_are_pairs(space, name):
    space = parse_space(space, beta=-1.7)
    points, decoder = points_of(space), pair_decoder(name, space)
    with torch.no_grad():
        decoder.values.copy_(torch.tensor([0.3, -0.4]))
    nodes = torch.tensor([3, 0, 8])
    rows = decoder.rows(points, nodes, space)
    assert rows.shape == (3, 9)
    for row, node in zip(rows, nodes, strict=True):
        found = decoder(points[node].expand(9, -1), points, space)
        off = torch.arange(9) != node  # a point's distance to itself is rounding
        torch.testing.assert_close(row[off], found[off], rtol=1e-3, atol=1e-4)


def test_time_counts_negative_in_the_inner_product():
    space = parse_space("Q2,3")
    u = torch.tensor([[0.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.3, 0.0]])
    points = space.expmap0(u)
    decoder = InnerProduct(space)
    torch.testing.assert_close(decoder(points, points, space), torch.tensor([-0.25, 0.09]))


def test_a_sphere_and_flat_space_have_positive_products():
    for name in ("S3", "Q0,4", "E4", "H3"):
        space = parse_space(name)
        points = points_of(space)
        assert (InnerProduct(space)(points, points, space) > 0).all()


def test_only_the_indefinite_factor_of_a_product_has_negative_signs():
    assert InnerProduct(parse_space("Q2,2xE2")).signs.tolist() == [-1, -1, 1, 1, 1, 1]


def test_a_learned_form_starts_as_the_inner_product_and_may_change_signs():
    space = parse_space("Q2,2")
    points, form = points_of(space), BilinearForm(space)
    others = points.roll(1, 0)
    assert torch.equal(form(points, others, space), InnerProduct(space)(points, others, space))
    with torch.no_grad():
        form.weights[1] = 1.0
    assert not torch.equal(form(points, others, space), InnerProduct(space)(points, others, space))


def test_the_boundary_of_distances_is_where_it_says():
    space, x = parse_space("E2"), torch.tensor([[0.0, 0.0]])
    y = torch.tensor([[3.0, 0.0]])
    assert SquaredDistance(r=9.0)(x, y, space).item() == 0
    assert pair_decoder("distance", space)(x, y, space).item() == pytest.approx(2 - 3)
    assert pair_decoder("squared-distance", space)(x, y, space).item() == pytest.approx(2 - 9)


def test_a_fixed_boundary_has_no_parameters():
    space = parse_space("H3")
    for name in ("distance", "squared-distance"):
        assert not list(pair_decoder(name, space, learnable=False).parameters())
        assert len(list(pair_decoder(name, space).parameters())) == 1


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("space", SPACES)
def test_gradients_are_finite_where_points_coincide_and_at_the_origin(space, name):
    space = parse_space(space)
    points = torch.cat((points_of(space, 3), space.origin(space.ambient_dim).float()[None])).requires_grad_()
    decoder = pair_decoder(name, space)
    logits = decoder(points, points.detach().clone(), space)
    (gradient,) = torch.autograd.grad(logits.sum(), points)
    assert gradient.isfinite().all()


def test_pairs_of_nodes_are_pairs_of_their_points():
    space = parse_space("Q2,2")
    points, pairs = points_of(space), torch.tensor([[0, 3, 8], [1, 3, 2]])
    for name in PLAIN:
        decoder = pair_decoder(name, space)
        assert torch.equal(decoder.decode(points, pairs, space), decoder(points[pairs[0]], points[pairs[1]], space))
