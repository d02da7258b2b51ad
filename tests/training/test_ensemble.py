"""Models of several seeds together."""

import numpy as np
import torch

from qgcn.training.ensemble import _spread, over_seeds


def test_over_seeds_is_mean_and_deviation():
    each = np.array([[1.0, 2.0], [3.0, 2.0]])
    mean, deviation = over_seeds(each, True)
    assert mean.tolist() == [2, 2]
    assert deviation.tolist() == [2**0.5, 0]
    assert over_seeds(each, False).tolist() == [2, 2]
    assert over_seeds(each[:1], True)[1].tolist() == [0, 0]


def test_the_spread_of_each_column_is_over_seeds_and_that_of_one_seed_is_left_out():
    each = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 4.0]])
    np.testing.assert_allclose(_spread(each)["spread"], [2**0.5, 0, 8**0.5])
    assert _spread(each[:1]) == {}


def test_rows_are_ranked_as_pairs_are():
    from qgcn.data import load
    from qgcn.tasks import Config
    from qgcn.training import Run

    for seeds in (1, 2):
        values = {"task": "links", "data": "g", "space": "Q2,2", "epochs": 3, "yardsticks": False, "seeds": seeds}
        run = Run(Config.checked(values), data=load("ring-of-trees"))
        run.train()
        models = run.models()
        nodes = torch.tensor([4, 100, 7])
        pairs = torch.stack((nodes.repeat_interleave(180), torch.arange(180).repeat(3)))
        expected = models.logits(pairs)[0] if seeds == 1 else models.probabilities(pairs).mean(0)
        apart = pairs[0] != pairs[1]
        found = models.row_scores(nodes).flatten().cpu()[apart]
        torch.testing.assert_close(found.double().cpu(), torch.from_numpy(expected)[apart], rtol=1e-3, atol=1e-3)
