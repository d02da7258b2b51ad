"""The objective of entailment in C++: its parts, and what it refuses."""

import pytest
import torch

from cases import generator
from qgcn.kernels.cones import cpu

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


def arguments(pairs=3000, negatives=2):
    source = generator(2)
    ends = torch.randint(40, (2, negatives, pairs), generator=source)
    rule = torch.tensor([1.5, 2.0, 0.3, 1 / pairs, 1 / pairs, 1 / pairs])
    counted = torch.rand(2, negatives, pairs, generator=source) < 0.8
    return torch.randint(40, (2, pairs), generator=source), ends, counted, rule


def rows():
    return torch.randn(40, 10, generator=generator(3))


def test_parts_share_the_pairs(monkeypatch):
    results = []
    for count in (1, 3):
        monkeypatch.setattr(cpu, "threads_for", lambda _, count=count: count)
        results.append(cpu.objective(rows(), "straight", 1.0, *arguments()))
    for one, three in zip(*results, strict=True):
        torch.testing.assert_close(one.float(), three.float(), rtol=1e-4, atol=1e-6)


def test_one_pair_in_two_dimensions_by_hand():
    events = torch.tensor([[0.0, 0.0], [2.0, 0.5]])
    nothing = torch.zeros(2, 1, 1, dtype=torch.bool)
    pair, ends = torch.tensor([[0], [1]]), torch.tensor([[[1]], [[0]]])  # the other ancestor is the same
    to_rows, sums = cpu.objective(events, "straight", 1.0, pair, ends, nothing, torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    margin = torch.tensor(0.5 - 2.0)
    slope = torch.sigmoid(margin)
    expected = torch.nn.functional.softplus(margin) + torch.log(torch.tensor(2.0))  # the fit of a logit of 0
    torch.testing.assert_close(sums[0].float(), expected)
    torch.testing.assert_close(to_rows, slope * torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))


@pytest.mark.parametrize("end", [0, 1])
def test_ends_count_by_themselves(end):
    """What does not count moves nothing, and leaves the other end as it is."""
    pairs, ends, counted, rule = arguments()
    counted[:] = True
    counted[end] = False
    apart = ends.clone()
    apart[end] = (apart[end] + 1) % 40
    found = [cpu.objective(rows(), "straight", 1.0, pairs, given, counted, rule) for given in (ends, apart)]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
    apart[1 - end] = (apart[1 - end] + 1) % 40
    assert not torch.allclose(cpu.objective(rows(), "straight", 1.0, pairs, apart, counted, rule)[0], found[0][0])


@pytest.mark.parametrize(("place", "value", "told"), [(0, -1, "-1 to 39"), (1, 40, "0 to 40")])
def test_ends_that_are_no_nodes_are_refused(place, value, told):
    pairs, ends, counted, rule = arguments()
    ends[place, 1, 7] = value
    with pytest.raises(ValueError, match=rf"ends of pairs must lie in \[0, 40\), got {told}"):
        cpu.objective(rows(), "straight", 1.0, pairs, ends, counted, rule)
    with pytest.raises(ValueError, match=r"ends of pairs must lie in"):
        cpu.among(torch.zeros(41, dtype=torch.long), torch.zeros(0, dtype=torch.long), ends[place].flatten(), ends[0])
