"""An encoder of your own, trained by every task of qgcn.

Usage::

    python examples/own_encoder.py                      # trains it, prints the scores
    python examples/own_encoder.py train links --data cora --model smooth --steps 3
    python examples/own_encoder.py report runs/...      # any command of qgcn
"""

import sys

import torch
from pydantic import Field

import qgcn
from qgcn.models import Capabilities, Encoder, Model, Options, register_model
from qgcn.nn import Adjacency
from qgcn.training import Config, Run


class SmoothOptions(Options):
    """Settings of the encoder: keys of a config, and flags of the command line."""

    steps: int = Field(2, ge=1, le=10, description="Number of aggregations.")


class Smooth(Encoder):
    """One linear map, then the mean of neighbours, several times."""

    options_type = SmoothOptions

    def __init__(self, in_features: int, space: str, steps: int = 2) -> None:
        super().__init__()
        self.space = qgcn.parse_space(space, learnable=True)
        self.linear = torch.nn.Linear(in_features, self.space.ambient_dim)
        self.steps = steps

    @classmethod
    def capabilities(cls, space: str, options: dict[str, object]) -> Capabilities:
        """Say what the encoder needs before one is built."""
        return Capabilities(graph="matrix", sparse_features=False)

    def tangent(self, x: torch.Tensor, graph: Adjacency) -> torch.Tensor:
        """Return tangent vectors at the origin of the space."""
        u = self.linear(x)
        for _ in range(self.steps):
            u = graph @ u
        return self.space.fold0(u)  # a tangent vector, whatever u was


register_model(
    Model("smooth", Smooth, default_space="Q6,2", about="means of neighbours")
)

if len(sys.argv) > 1:
    from qgcn.cli import main

    main()

for task in ("links", "classification"):
    values = {"task": task, "data": "stochastic-block", "model": "smooth", "epochs": 60}
    summary = Run.start(Config.checked(values | {"seeds": 3}), None).train()
    for name, (mean, deviation) in summary.items():
        print(f"{task:14}  {name:17}  {mean:.3f} ± {deviation:.3f}")
