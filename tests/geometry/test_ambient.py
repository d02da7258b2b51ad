import pytest
import torch

from cases import SIGNATURES, generator
from qgcn import geometry
from tolerance import DTYPES


def test_inner_counts_time_negatively():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    y = torch.tensor([5.0, 6.0, 7.0, 8.0])
    assert geometry.inner(x, y, time_dim=1) == -5 + 12 + 21 + 32
    assert geometry.inner(x, y, time_dim=2) == -5 - 12 + 21 + 32
    assert geometry.inner(x, y, time_dim=3) == -5 - 12 - 21 + 32
    assert geometry.inner(x, y, time_dim=4) == -5 - 12 - 21 - 32


@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_inner_is_symmetric_and_square_is_its_diagonal(s, t):
    u, v = (torch.randn(20, s + t, dtype=torch.float64, generator=generator(i)) for i in range(2))
    torch.testing.assert_close(geometry.inner(u, v, time_dim=t), geometry.inner(v, u, time_dim=t))
    torch.testing.assert_close(geometry.square(u, time_dim=t), geometry.inner(u, u, time_dim=t, keepdim=True))


def test_square_passes_gradcheck():
    v = torch.randn(4, 5, dtype=torch.float64, generator=generator(0)).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: geometry.square(v, time_dim=2), v)
    assert torch.autograd.gradgradcheck(lambda v: geometry.square(v, time_dim=2), v)


def test_flip_time_is_its_own_inverse():
    v = torch.randn(3, 5, generator=generator(0))
    flipped = geometry.flip_time(v, time_dim=2)
    assert (flipped[:, :2] == -v[:, :2]).all()
    assert (flipped[:, 2:] == v[:, 2:]).all()
    assert (geometry.flip_time(flipped, time_dim=2) == v).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_causal_type_tells_the_three_types_at_every_scale(dtype):
    v = torch.tensor([[2.0, 0.0, 1.0], [1.0, 0.0, 2.0], [3.0, 4.0, 5.0], [0.0, 0.0, 0.0]], dtype=dtype)
    for scale in (1e-6, 1.0, 1e6):
        assert geometry.causal_type(scale * v, time_dim=2).tolist() == [-1, 1, 0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_causal_type_counts_rounding_as_null(dtype):
    unit = torch.randn(200, 7, dtype=torch.float64, generator=generator(0))
    unit = unit / unit.norm(dim=-1, keepdim=True)
    other = torch.randn(200, 5, dtype=torch.float64, generator=generator(1))
    other = other / other.norm(dim=-1, keepdim=True)
    null = torch.cat((unit, other), dim=-1).to(dtype)
    assert (geometry.causal_type(null, time_dim=7) == 0).all()
    assert (geometry.causal_type(null * torch.tensor([1.001] * 7 + [1] * 5, dtype=dtype), time_dim=7) == -1).all()


def test_pole_is_the_root_of_beta_on_the_first_axis():
    pole = geometry.pole(3, beta=-4.0, like=torch.empty(0, dtype=torch.float64))
    assert pole.tolist() == [2.0, 0.0, 0.0]
    batch = geometry.pole(3, beta=torch.tensor([[-1.0], [-9.0]]), like=torch.empty(0))
    assert batch.tolist() == [[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("tensors", "time_dim", "error", "message"),
    [
        ({"x": torch.zeros(3), "y": torch.zeros(4)}, 1, ValueError, "x has 3 coordinates but y has 4"),
        ({"x": torch.zeros(3)}, 0, ValueError, r"time_dim must be in \[1, 3\], got 0"),
        ({"x": torch.zeros(10)}, 11, ValueError, r"time_dim must be in \[1, 10\], got 11"),
        ({"x": torch.zeros(3)}, 1.0, TypeError, "time_dim must be an int, got float"),
        ({"x": torch.zeros(3)}, True, TypeError, "time_dim must be an int, got bool"),
        ({"x": torch.zeros(3, dtype=torch.int64)}, 1, TypeError, r"x must be float32 or float64, got torch\.int64"),
        ({"x": torch.zeros(3, dtype=torch.bfloat16)}, 1, TypeError, r"x must be float32 or float64, got torch\.bfloat16"),
        ({"x": torch.zeros(3), "v": torch.zeros(3).double()}, 1, TypeError, r"x is torch\.float32 but v is torch\.float64"),
        ({"x": torch.zeros(3), "v": torch.zeros(3, device="meta")}, 1, TypeError, "x is on cpu but v is on meta"),
        ({"x": torch.zeros(2, 3), "y": torch.zeros(4, 3)}, 1, ValueError, r"do not broadcast: x \(2, 3\), y \(4, 3\)"),
        ({"x": torch.tensor(1.0)}, 1, ValueError, r"x must have shape \(\.\.\., d\), got a scalar"),
        ({"x": [1.0, 2.0]}, 1, TypeError, r"x must be a torch\.Tensor, got list"),
    ],
)
def test_check_says_what_was_given_and_what_was_expected(tensors, time_dim, error, message):
    with pytest.raises(error, match=message):
        geometry.check(time_dim, **tensors)


@pytest.mark.parametrize("beta", [0.0, 1.0, float("nan"), -float("inf")])
def test_magnitude_refuses_a_number_that_is_not_negative(beta):
    with pytest.raises(ValueError, match=f"beta must be negative and finite, got {beta}"):
        geometry.magnitude(beta, torch.empty(0))


@pytest.mark.parametrize("name", ["expmap", "logmap", "dist", "sqdist", "geodesic_dist", "signed_sqdist", "pairwise_dist"])
@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_maps_are_nan_for_a_tensor_beta_that_is_not_negative(name, beta):
    x = torch.tensor([[1.0, 0.5, 0.2]])
    result = getattr(geometry, name)(x, 1.5 * x, beta=torch.tensor(beta), time_dim=2)
    assert result.isnan().all()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: geometry.expmap(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.logmap(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.dist(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.sqdist(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.geodesic_dist(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.signed_sqdist(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.is_connected(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.pairwise_dist(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.transport(x, y, x, beta=-1.0, time_dim=2),
        lambda x, y: geometry.translate(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.project_tangent(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.push_to_sphere(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.pull_back_from_sphere(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.expmap_flat(x, y, beta=-1.0, time_dim=2),
        lambda x, y: geometry.logmap_flat(x, y, beta=-1.0, time_dim=2),
    ],
)
@pytest.mark.parametrize(
    ("y", "error"),
    [
        (torch.zeros(2, 4), ValueError),
        (torch.zeros(2, 3, dtype=torch.float64), TypeError),
        (torch.zeros(2, 3, dtype=torch.int32), TypeError),
    ],
)
def test_every_map_of_two_tensors_refuses_what_does_not_fit(call, y, error):
    with pytest.raises(error):
        call(torch.ones(2, 3), y)
