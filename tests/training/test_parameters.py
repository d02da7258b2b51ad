"""Roles of parameters, told by the modules that own them; the optimiser and gradients that follow."""

import pytest
import torch
from torch import nn

from qgcn import parse_space
from qgcn.models import build
from qgcn.training import Config
from qgcn.training.parameters import build_optimiser, clip_gradients, parameter_roles, schedule_rates


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


def test_rate_and_decay_follow_the_role():
    model = build("qgcn", 3, "Q2,2")
    config = Config.checked(
        {"task": "links", "data": "x", "lr": 0.02, "curvature_lr": 0.003, "weight_decay": 0.1, "adam_decay": 0.9}
    )
    parameters, roles = dict(model.named_parameters()), parameter_roles(model)
    optimiser = build_optimiser(parameters, roles, config)
    found = {id(each): group for group in optimiser.param_groups for each in group["params"]}
    for name, parameter in parameters.items():
        group = found.pop(id(parameter))
        assert group["lr"] == group["initial_lr"] == (0.003 if roles[name] == "curvature" else 0.02)
        assert group["weight_decay"] == (0.1 if roles[name] == "weight" else 0)
        assert group["betas"] == (0.9, 0.9)
    assert not found


@pytest.mark.parametrize("models", [None, 3])
@pytest.mark.parametrize("most", [0.01, 5.0, 1e6])
def test_clip_is_that_of_torch_for_each_model(models, most):
    generator = torch.Generator().manual_seed(0)
    shapes = [(4, 2), (3,), ()]
    parameters = [torch.zeros(shape if models is None else (models, *shape), requires_grad=True) for shape in shapes]
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    given = [parameter.grad.clone() for parameter in parameters]
    clip_gradients([*parameters, torch.zeros(2, requires_grad=True)], most, models)  # one without a gradient
    for index in range(models or 1):
        twins = []
        for gradient in given:
            one = gradient if models is None else gradient[index]
            twins.append(torch.zeros_like(one, requires_grad=True))
            twins[-1].grad = one.clone()
        torch.nn.utils.clip_grad_norm_(twins, most)
        for parameter, twin in zip(parameters, twins, strict=True):
            torch.testing.assert_close(parameter.grad if models is None else parameter.grad[index], twin.grad)


@pytest.mark.parametrize("recorded", [False, True])
def test_rates_fall_along_a_cosine_where_they_are_kept(recorded):
    config = Config.checked(
        {"task": "links", "data": "cycle", "epochs": 8, "schedule": "cosine", "lr": 0.5, "weight_decay": 0.1}
    )
    parameters = {"a": torch.zeros(2, requires_grad=True), "b": torch.zeros(2, requires_grad=True)}
    optimiser = build_optimiser(parameters, {"a": "weight", "b": "curvature"}, config)
    if recorded:  # as on a GPU
        for group in optimiser.param_groups:
            group["lr"] = torch.tensor(group["lr"])
    kept = [group["lr"] for group in optimiser.param_groups]
    for epoch, factor in ((0, 1), (4, 0.5), (8, 0)):
        schedule_rates(optimiser, config, epoch)
        rates = [group["lr"] for group in optimiser.param_groups]
        assert [float(rate) for rate in rates] == pytest.approx([0.5 * factor, config.curvature_lr * factor])
        assert not recorded or all(one is other for one, other in zip(rates, kept, strict=True))
