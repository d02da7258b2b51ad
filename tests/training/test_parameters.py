"""What a parameter is for, told by the module that owns it."""

import pytest
import torch
from torch import nn

from qgcn import parse_space
from qgcn.models import build
from qgcn.training.parameters import parameter_roles


class Owner(nn.Module):
    """Not a space, whatever its parameters are called."""

    def __init__(self, *names):
        super().__init__()
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.ones(2)))


def test_a_module_that_is_no_space_has_no_curvature_whatever_its_parameters_are_called():
    model = nn.ModuleDict({"space": Owner("k", "free_beta", "beta", "curvature"), "inner": nn.Sequential(Owner("k"))})
    assert parameter_roles(model) == {
        "space.k": "other",
        "space.free_beta": "other",
        "space.beta": "other",
        "space.curvature": "other",
        "inner.0.k": "other",
    }


@pytest.mark.parametrize("name", ["H3", "S3", "K3", "Q2,2", "H2xS2", "Q2,2xK2"])
def test_a_space_of_any_name_and_depth_owns_curvatures(name):
    space = parse_space(name, learnable=True)
    model = nn.ModuleDict({"weight": nn.ModuleDict({"bias": space}), "other": nn.Linear(2, 2)})
    roles = parameter_roles(model)
    owned = {key for key in roles if key.startswith("weight.bias.")}
    assert len(owned) == len(list(space.parameters())) > 0
    assert {roles.pop(key) for key in owned} == {"curvature"}
    assert roles == {"other.weight": "weight", "other.bias": "weight"}


def test_a_space_of_one_s_own_owns_curvatures():
    class Bent(type(parse_space("E3"))):
        """A space with a parameter called like that of a layer."""

    space = Bent(3)
    space.weight = nn.Parameter(torch.ones(()))
    assert parameter_roles(nn.Sequential(space)) == {"0.weight": "curvature"}
    assert parameter_roles(space) == {"weight": "curvature"}


def test_every_parameter_of_a_model_has_one_role():
    model = build("kappa-gcn", 3, "H2xS2", attention=True)
    roles = parameter_roles(model)
    assert roles.keys() == dict(model.named_parameters()).keys()
    assert {role for name, role in roles.items() if ".space." in name} == {"curvature"}
    assert set(roles.values()) >= {"curvature", "weight"}
