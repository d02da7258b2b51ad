"""A task and an encoder of one's own, in a file of one's own. ``python tests/toys.py train degree ...`` is the command line."""

import torch
from torch import nn

from qgcn.answer import Answer
from qgcn.models import Capabilities, Encoder, Model, Options, register_model
from qgcn.tasks import Config, Predictor, Task, register_task
from qgcn.tasks.insights import Listing


class DegreeConfig(Config):
    task: str = "degree"
    logarithm: bool = True
    defaults = {"epochs": 30, "lr": 0.05, "feature_dropout": 0.1}  # noqa: RUF012


class DegreePredictor(Predictor):
    def __init__(self, encoder):
        super().__init__(encoder)
        self.read = nn.Linear(encoder.space.ambient_dim, 1)

    def loss(self, x, graph, nodes, degree):
        return (self.predict(x, graph, nodes) - degree).square().mean()

    def predict(self, x, graph, nodes):
        return self.read(self.encoder.tangent(x, graph)).squeeze(-1)[nodes]


@register_task
class Degree(Task):
    name, metric, config_type = "degree", "closeness", DegreeConfig
    purpose = "Predict the degree of a node."
    aim = "so that the degree of a node can be read off its point"

    def prepare(self):
        degree = torch.bincount(self.data.edge_index[0], minlength=self.num_nodes).float()
        self.degree = (degree.log1p() if self.config.logarithm else degree).to(self.device)
        order = torch.randperm(self.num_nodes, generator=torch.Generator().manual_seed(self.config.split_seed))
        self.nodes = dict(zip(("train", "val", "test"), order.to(self.device).chunk(3), strict=True))

    def message_edges(self):
        return self.data.edge_index, None

    def build_predictor(self):
        return DegreePredictor(self.build_encoder())

    def targets(self, split):
        nodes = self.nodes[split]
        return (nodes, self.degree[nodes]) if split == "train" else (nodes,)

    def selection(self, prediction, space):
        return self.closeness(prediction, "val")

    def score(self, prediction, split, space):
        return {"closeness": float(self.closeness(prediction, split))}

    def listings(self, predictor):
        every = torch.arange(self.num_nodes, device=self.device)
        error = (predictor.predict(self.x, self.graph, every) - self.degree).abs().cpu()
        worst = error.argsort(descending=True)[:5]
        table = Answer({"node": worst.numpy(), "error": error[worst].numpy()})
        return [Listing("worst-degrees", "Degrees predicted worst", "The model is furthest off at these nodes.", table)]

    def closeness(self, prediction, split):
        return 1 / (1 + (prediction - self.degree[self.nodes[split]]).square().mean().double())


class ScaledOptions(Options):
    stretch: float = 2.0


class Scaled(Encoder):
    """Features through one linear map, stretched."""

    options_type = ScaledOptions

    def __init__(self, in_features, space, stretch=2.0):
        from qgcn import parse_space

        super().__init__()
        self.space, self.stretch = parse_space(space), stretch
        self.linear = nn.Linear(in_features, self.space.ambient_dim)

    @classmethod
    def capabilities(cls, space, options):
        return Capabilities(graph="none", sparse_features=False)

    def tangent(self, x, graph):
        return self.space.fold0(self.stretch * self.linear(x))


register_model(Model("scaled", Scaled, "H3", about="one linear map"))

if __name__ == "__main__":
    from qgcn.cli import main

    main()
