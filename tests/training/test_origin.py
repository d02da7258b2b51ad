"""A file belongs to the settings and the graph that it was trained with."""

from pathlib import Path

import pytest
import torch

from qgcn.data import load
from qgcn.tasks import Config
from qgcn.training.origin import check_origin, check_same, fingerprint_of

CONFIG = Config.checked({"task": "classification", "data": "stochastic-block", "space": "Q5,2", "lr": 0.02})


def test_other_settings_are_named_but_for_those_that_have_no_part():
    check_same(CONFIG.model_dump() | {"device": "cuda", "checkpoint_seconds": 1.0}, CONFIG, Path("file"))
    with pytest.raises(ValueError, match=r"^file was trained with lr = 0.5, but the config says 0.02: "):
        check_same(CONFIG.model_dump() | {"lr": 0.5}, CONFIG, Path("file"))
    with pytest.raises(ValueError, match="does not say which settings"):
        check_same(None, CONFIG, Path("file"))


def test_another_graph_or_split_is_noticed():
    data, other = load("stochastic-block"), load("stochastic-block")
    other.y[0] = (other.y[0] + 1) % 4
    split = {"held": torch.tensor([1, 5])}
    own = fingerprint_of(data, split)
    assert own == fingerprint_of(load("stochastic-block"), dict(split))
    check_origin({"config": CONFIG.model_dump(), "data": own}, CONFIG, own, Path("file"))
    for found in (fingerprint_of(other, split), fingerprint_of(data, {"held": torch.tensor([1, 6])}), None):
        with pytest.raises(ValueError, match=r"^file was trained on another graph than that of the run"):
            check_origin({"config": CONFIG.model_dump(), "data": found}, CONFIG, own, Path("file"))
