"""Examples in docstrings run, and the public names have one."""

import doctest
import importlib
from pathlib import Path

import pytest

import qgcn

HOME = Path(qgcn.__file__).parent
WRITTEN = [path for path in sorted(HOME.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
MODULES = [
    ".".join(("qgcn", *path.relative_to(HOME).with_suffix("").parts)) for path in WRITTEN if path.parent.name != "estimators"
]
"""Modules with examples; those of the estimators, which train, are executed by tests of their own."""
NAMED = [
    *((qgcn.manifolds, name) for name in qgcn.manifolds.__all__ if name != "Family"),
    (qgcn.optim, "PseudoRiemannianAdam"),
    *(
        (qgcn.nn, name)
        for name in ("IntrinsicClassifier", "NeighborLoader", "NeighbourSampler", "sample_neighbours", "arrow_decoder")
    ),
    *((qgcn.data, name) for name in ("split_directed", "one_way")),
    (qgcn.analysis, "measure_arrows"),
    (qgcn.kernels, "sampled_reconstruction_loss"),
    *((qgcn.geometry, name) for name in ("descent_direction", "definite_inner", "centroid", "plane_dist", "transvection")),
    *(
        (qgcn.geometry, name)
        for name in ("project", "project_tangent", "expmap0", "logmap0", "sample", "inner", "squared_chord")
    ),
]


@pytest.fixture
def registry():
    """Forget the spaces that an example registers."""
    from qgcn.manifolds.names import _FORMS

    before = dict(_FORMS)
    yield
    _FORMS.clear()
    _FORMS.update(before)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(("home", "name"), NAMED, ids=[name for _, name in NAMED])
def test_public_names_have_an_example(home, name):
    assert "Example:\n" in getattr(home, name).__doc__
    assert ">>> " in getattr(home, name).__doc__
