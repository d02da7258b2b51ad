"""Weights of several predictors: most likely on validation, finite, invariant to scale."""

import math

import numpy as np
import pytest
import torch

from qgcn.blending import Prior, blend, fit_weights


def problem(n=400, seed=0):
    """Three predictors of three classes: a good one, a weak one, noise."""
    g = torch.Generator().manual_seed(seed)
    truth = torch.randn(n, 3, generator=g, dtype=torch.float64)
    outcomes = torch.multinomial((2 * truth).softmax(1), 1, generator=g).squeeze(1)
    weak, noise = truth + 2 * torch.randn(n, 3, generator=g), torch.randn(n, 3, generator=g)
    return torch.stack((truth, weak, noise), dim=-1), outcomes


def loss(terms, outcomes, weights):
    z = terms - terms.mean(1, keepdim=True)
    deviation = z.flatten(0, 1).std(0, correction=0)
    penalty = (weights * deviation).square().sum() / 2
    return float(torch.nn.functional.cross_entropy(terms @ weights, outcomes, reduction="sum") + penalty)


def test_fit_weights_finds_the_least_loss():
    terms, outcomes = problem()
    weights = fit_weights(terms, outcomes)
    least = loss(terms, outcomes, weights)
    for k in range(3):
        for step in (-0.01, 0.01):
            moved = weights.clone()
            moved[k] += step
            assert loss(terms, outcomes, moved) > least
    assert weights[0] == pytest.approx(2, abs=0.3)  # the scale that outcomes were drawn with
    assert weights[2].abs() < 0.2


def test_fit_weights_of_one_term_is_a_temperature_as_a_grid_finds_it():
    terms, outcomes = problem()
    (weight,) = fit_weights(terms[..., :1], outcomes).tolist()
    grid = torch.linspace(0.5, 4, 3501, dtype=torch.float64)
    best = min(grid.tolist(), key=lambda w: loss(terms[..., :1], outcomes, torch.tensor([w], dtype=torch.float64)))
    assert weight == pytest.approx(best, abs=1e-3)


def test_fit_weights_scales_against_its_terms():
    terms, outcomes = problem()
    scale = torch.tensor([1000.0, 0.5, 3.0], dtype=torch.float64)
    torch.testing.assert_close(fit_weights(terms * scale, outcomes) * scale, fit_weights(terms, outcomes))


def test_fit_weights_stays_finite_where_a_term_is_always_right_or_says_nothing():
    outcomes = torch.arange(40) % 2
    right = torch.nn.functional.one_hot(outcomes, 2).double()
    weights = fit_weights(torch.stack((right, torch.full_like(right, 3.0)), dim=-1), outcomes)
    assert math.isfinite(weights[0])
    assert weights[0] > 1
    assert weights[1] == 0


def test_fit_weights_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 4)) * [1, 5, 2, 1]
    y = (x @ [1, 0.2, 0.7, 0] + rng.logistic(size=300) > 0).astype(int)
    terms = torch.from_numpy(np.stack((np.zeros_like(x), x), axis=1))
    half = np.concatenate((-x / 2, x / 2)).std(axis=0)  # terms are centred over outcomes
    known = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000).fit(x / half, y).coef_[0] / half
    np.testing.assert_allclose(fit_weights(terms, torch.from_numpy(y)).numpy(), known, rtol=1e-4)


def test_a_term_that_hardly_varies_on_validation_gets_no_huge_weight():
    outcomes = torch.arange(40) % 2
    tiny = 0.001 * torch.nn.functional.one_hot(outcomes, 2).double()
    (weight,) = fit_weights(tiny.unsqueeze(-1), outcomes).tolist()
    assert 0 < weight < 1


def test_a_prior_decides_where_there_is_little_to_go_by_and_gives_way_to_data():
    terms, outcomes = problem(2000)
    wrong = Prior((-1.0, 1.0, 1.0), strength=3.0)
    assert torch.dist(fit_weights(terms, outcomes, wrong), fit_weights(terms, outcomes)) < 0.2
    few = fit_weights(terms[:3], outcomes[:3], wrong)
    assumed = torch.tensor(wrong.weights, dtype=few.dtype)
    assert torch.dist(few, assumed) < torch.dist(fit_weights(terms[:3], outcomes[:3]), assumed)


def test_a_constant_term_keeps_the_weight_of_the_prior():
    terms, outcomes = problem(100)
    terms[..., 1] = 3.0
    assert fit_weights(terms, outcomes, Prior((0.0, 0.7, 0.0)))[1] == 0.7
    assert fit_weights(terms, outcomes)[1] == 0


def test_the_least_deviation_is_that_of_the_prior():
    terms, outcomes = problem(100)
    bold, timid = (fit_weights(0.001 * terms, outcomes, Prior(least=least)) for least in (1e-6, 0.25))
    torch.testing.assert_close(bold, 1000 * fit_weights(terms, outcomes))
    assert (timid.abs() < bold.abs()).all()


def test_a_prior_loses_its_first_predictor():
    assert Prior((1.0, 2.0), 3.0, 0.5).without_first() == Prior((2.0,), 3.0, 0.5)
    assert Prior().without_first() == Prior()


def test_blend_is_the_weighted_sum():
    terms, _ = problem(5)
    weights = torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)
    torch.testing.assert_close(blend(terms.float(), weights), terms.float().double() @ weights)
