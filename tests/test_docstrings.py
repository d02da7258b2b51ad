"""Examples in docstrings run, and the public names have one."""

import doctest
import importlib
import pkgutil

import pytest

import qgcn

PACKAGES = ("manifolds", "geometry")
MODULES = [
    *(f"qgcn.{package}.{each.name}" for package in PACKAGES for each in pkgutil.iter_modules(getattr(qgcn, package).__path__)),
    "qgcn.data.vocabulary",
    "qgcn.optim",
    "qgcn.nn.intrinsic",
]
NAMED = [
    *((qgcn.manifolds, name) for name in qgcn.manifolds.__all__ if name != "Family"),
    (qgcn.optim, "PseudoRiemannianAdam"),
    (qgcn.nn, "IntrinsicClassifier"),
    *((qgcn.geometry, name) for name in ("descent_direction", "definite_inner", "centroid", "plane_dist", "transvection")),
    *((qgcn.geometry, name) for name in ("project", "project_tangent", "expmap0", "logmap0", "sample", "inner")),
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
