import pytest
import torch

from cases import generator
from qgcn import metrics, parse_space
from qgcn.kernels import Neighbourhoods, use_backend
from qgcn.tasks.precision import estimate_mean_average_precision


@pytest.mark.parametrize("path", ["eager", "native"])
def test_the_precision_of_some_nodes_is_their_own_and_its_margin_holds_the_truth(path):
    space = parse_space("H3")
    x = space.random(400, 4, generator=generator(0)).as_subclass(torch.Tensor)
    graph = Neighbourhoods.of(torch.randint(0, 390, (2, 2000), generator=generator(1)), 400)
    with use_backend(path):
        every = metrics.node_precision(x, graph, space)
        truth = metrics.mean_average_precision(x, graph, space)
        joined = (~every.isnan()).nonzero().squeeze(1)
        inside = 0
        for seed in range(40):
            found = estimate_mean_average_precision(x, graph, space, 50, seed=seed)
            drawn = joined[torch.randperm(len(joined), generator=generator(seed))[:50]]
            torch.testing.assert_close(found.mean, every[drawn].mean(), rtol=1e-6, atol=0)
            inside += bool((found.mean - truth).abs() <= found.margin)
        assert 33 <= inside <= 40  # 38 expected; fewer than 33 once in a hundred times
        whole = estimate_mean_average_precision(x, graph, space, 1000)
    assert whole.mean == truth
    assert whole.margin == 0
    with pytest.raises(ValueError, match="nodes must be at least 2, got 1"):
        estimate_mean_average_precision(x, graph, space, 1)
