"""Logistic regression, against scikit-learn's."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from qgcn.yardsticks import adjacency, logistic, logistic_regression, normalized

TRAIN, VAL = np.arange(60), np.arange(60, 90)


@pytest.fixture
def patient(monkeypatch):
    """Steps enough to reach the optimum."""
    monkeypatch.setattr(logistic, "MOST_STEPS", 1000)


def problem(seed=0, nodes=120, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=nodes)
    x = (rng.random((nodes, 20)) < 0.1 + 0.2 * (np.arange(20) % classes == y[:, None])).astype(np.float64)
    edges = np.array(nx.gnp_random_graph(nodes, 0.05, seed=seed).edges).T
    return x, y, normalized(adjacency(np.concatenate((edges, edges[::-1]), axis=1), nodes), loops=True)


def probabilities(logits):
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def scaled(rows):
    """Bring the mean squared norm at the training nodes to that which random signs estimate as 1."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(rows.shape[1], logistic.SIGNS))
    return rows / np.sqrt(((rows @ signs)[TRAIN] ** 2).mean())


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_optimum_is_that_of_scikit_learn_on_the_features_it_stands_for(patient, smooth, sparse):
    x, y, smoother = problem()
    found = logistic_regression(
        csr_array(x) if sparse else x, y, TRAIN, VAL, smoother=smoother if smooth else None, strengths=(10.0,)
    )
    rows = x if sparse else (x - x.mean(0)) / x.std(0)
    rows = scaled(smoother @ (smoother @ rows) if smooth else rows)
    model = LogisticRegression(C=10.0, tol=1e-8, max_iter=5000).fit(rows[TRAIN], y[TRAIN])
    np.testing.assert_allclose(probabilities(found.logits), model.predict_proba(rows), atol=2e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_restart_gives_the_features_of_personalised_pagerank(patient, sparse):
    x, y, smoother = problem()
    given = csr_array(x) if sparse else x
    found = logistic_regression(given, y, TRAIN, VAL, smoother=smoother, hops=4, restart=0.2, strengths=(10.0,))
    start = rows = x if sparse else (x - x.mean(0)) / x.std(0)
    for _ in range(4):
        rows = 0.8 * (smoother @ rows) + 0.2 * start
    rows = scaled(rows)
    model = LogisticRegression(C=10.0, tol=1e-8, max_iter=5000).fit(rows[TRAIN], y[TRAIN])
    np.testing.assert_allclose(probabilities(found.logits), model.predict_proba(rows), atol=2e-3)


def test_validation_chooses_the_strength(patient):
    x, y, _ = problem(seed=2)
    each = {c: logistic_regression(csr_array(x), y, TRAIN, VAL, strengths=(c,)).logits for c in (0.001, 100.0)}
    right = {c: (logits.argmax(1) == y)[VAL].mean() for c, logits in each.items()}
    assert right[100.0] > right[0.001]
    both = logistic_regression(csr_array(x), y, TRAIN, VAL, strengths=(0.001, 100.0))
    assert both.strength == 100.0
    np.testing.assert_allclose(probabilities(both.logits), probabilities(each[100.0]), atol=0.01)


def test_a_class_that_is_not_learned_is_never_named():
    x, y, _ = problem()
    y[TRAIN] = np.where(y[TRAIN] == 1, 2, y[TRAIN])
    logits = logistic_regression(x, y, TRAIN, VAL).logits
    assert logits.shape == (120, 3)
    assert set(logits.argmax(1)) == {0, 2}


def test_one_class_and_features_of_zeros_are_no_error():
    zeros, y = np.zeros((120, 4)), np.zeros(120, dtype=np.int64)
    assert (logistic_regression(zeros, y, TRAIN, VAL).logits.argmax(1) == 0).all()
    assert np.isfinite(logistic_regression(csr_array(zeros), y, TRAIN, VAL).logits).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_large_graphs_get_fewer_steps_and_small_ones_no_more_than_they_need(monkeypatch, sparse):
    x, _, smoother = problem()
    given = csr_array(x) if sparse else x
    features = logistic._Features(given, smoother, 2)
    step = 2 * 3 * (given.nnz + 2 * smoother.nnz if sparse else given.size)  # smoothed once, if dense; else in each step
    for afforded, steps in ((1000, 80), (81, 80), (60, 60), (41, 41), (10, 40)):
        monkeypatch.setattr(logistic, "MULTIPLICATIONS", afforded * (step + 1))
        assert features.steps(3) == steps
