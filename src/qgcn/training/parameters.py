"""Roles of parameters, told by the modules that own them: learning rate, weight decay and type depend on the role."""

from typing import Literal

from torch import nn

from qgcn.manifolds import Space

__all__ = ["Role", "parameter_roles"]

Role = Literal["curvature", "weight", "other"]
"""``curvature``: owned by a space. ``weight``: a layer's ``weight`` or ``bias``, which decays. ``other``: everything else."""


def parameter_roles(model: nn.Module) -> dict[str, Role]:
    """Return the role of each parameter of a model, by its full name."""
    roles: dict[str, Role] = {}
    for path, module in model.named_modules():
        for name, _ in module.named_parameters(recurse=False):
            role: Role = "other"
            if isinstance(module, Space):
                role = "curvature"
            elif name in ("weight", "bias"):
                role = "weight"
            roles[f"{path}.{name}" if path else name] = role
    return roles
