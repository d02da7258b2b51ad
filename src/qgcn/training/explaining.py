"""Explanations: the edges that matter most for what a trained model says of a node or a pair, by PyG's ``GNNExplainer``."""

from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from qgcn.answer import Answer
from qgcn.progress import Progress, silent
from qgcn.tasks import Predictor, Task
from qgcn.training.pairs import asked_nodes, check_count

if TYPE_CHECKING:
    from qgcn.training.answers import Answers

__all__ = ["EPOCHS", "explain", "explained_model"]

EPOCHS = 100
"""Steps of the search for a mask."""


def explain(
    run: "Answers",
    node: Any,
    other: Any = None,
    k: int = 10,
    *,
    seed: int | None = None,
    epochs: int = EPOCHS,
    progress: Progress = silent,
) -> Answer:
    """Return the edges that matter most for what the network says of a node, or of the link between two.

    A mask of the edges is searched for that keeps the answer while it is as small as possible: whether two nodes are linked;
    of one node its class, or its place in the embedding where there are no classes. What is explained is the network; cheap
    predictors blended with it do not take part. Equal settings give equal answers.

    Args:
        run: A trained run, or its questions about a changed graph.
        node: Name of the node.
        other: Name of a second node, to explain the link between both (default: explain the node).
        k: Number of edges.
        seed: The seed whose model is explained (default: the mean over all seeds).
        epochs: Steps of the search (default: 100).
        progress: Progress callback, in steps.

    Returns:
        Columns ``source``, ``target`` and ``importance``, between 0 and 1, the most important edge first. Both directions of an
        edge of an undirected graph are one row, with the larger of their values. Edges that cannot matter are left out.

    Raises:
        ValueError: The run is not finished, a node is unknown, the model does not read the graph, or a pair is asked about
            that is none or that the run does not score.
    """
    check_count(k)
    run.check_finished()
    if other is not None:
        run.check_asked("scores_pairs", "no links")
    task = run.answering
    asked = asked_nodes([node] if other is None else [node, other], run.names)
    if other is not None and len(asked) == 1:
        raise ValueError(f"a link joins two nodes, got {node!r} twice")
    seeds = run.seeds if seed is None else [seed]
    for one in seeds:
        run.check_seed(one)
    edges = task.graph.edge_index.cpu()
    pair = None if other is None else torch.from_numpy(asked).view(2, 1)
    masks = []
    for place, one in enumerate(seeds):
        model = explained_model(task, run.predictor(one), pair)
        _report_steps(model, progress, place * epochs, len(seeds) * epochs)
        masks.append(_mask(model, task, None if other is not None else int(asked[0]), epochs))
    importance = torch.stack(masks).mean(0)
    if not task.directed:
        edges, importance = _undirected(edges, importance, task.num_nodes)
    order = importance.argsort(descending=True, stable=True)[:k]
    order = order[importance[order] > 0]
    ends = run.node_ids[edges[:, order].numpy()]
    return Answer({"source": ends[0], "target": ends[1], "importance": importance[order].double().numpy()})


def explained_model(task: Task[Any], predictor: Predictor, pair: Tensor | None = None) -> nn.Module:
    """Return a trained model as ``torch_geometric.explain.Explainer`` takes it: from ``(x, edge_index)`` to an output.

    It shares the weights of the predictor. ``x`` is ``task.x`` as a dense tensor, ``edge_index`` that of ``task.graph``, whose
    weights it keeps. The output are the logits of the classes of each node, or tangent coordinates where there are none; or
    the logit of a pair.

    Args:
        task: The problem.
        predictor: Its trained model.
        pair: Positions of two nodes, shape ``(2, 1)``, for a task that scores pairs.

    Raises:
        ValueError: The model does not read the graph, or multiplies with it instead of passing messages.
    """
    from torch_geometric.nn import MessagePassing

    if task.capabilities.graph == "none" or task.capabilities.learns_nodes:
        raise ValueError(f"the model {task.config.model} does not read the graph: there are no edges to explain")
    if not any(isinstance(module, MessagePassing) for module in predictor.encoder.modules()):
        raise ValueError(f"the model {task.config.model} multiplies with the graph: expected one of layers, such as qgcn")
    if pair is None:
        return _Explained(task, predictor).to(task.device).eval()
    return _ExplainedPair(task, predictor, pair).to(task.device).eval()


class _Explained(nn.Module):
    """A trained model whose aggregations all are layers of PyG, so that each honours an edge mask."""

    def __init__(self, task: Task[Any], predictor: Predictor) -> None:
        super().__init__()
        self.encoder = predictor.encoder
        self.head: Any = getattr(predictor, "head", None)
        self.weight = None if task.capabilities.graph == "edges" else task.graph.edge_weight
        self.last = None
        if self.head is not None and getattr(predictor, "convolve", False):
            from qgcn.nn import QGCNConv  # here: PyTorch Geometric takes seconds to import

            classes = self.head.linear.out_features
            self.last = QGCNConv(
                classes, f"E{classes}", aggregation=task.graph.aggregation, self_loops=task.graph.self_loops, bias=False
            )
            self.last.to(self.head.linear.weight)
            nn.init.eye_(self.last.linear.weight)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        weight = () if self.weight is None else (self.weight,)
        u: Tensor = self.encoder.tangent(x, edge_index, *weight)
        if self.head is None:
            return u
        logits: Tensor = self.head.from_tangent(u)
        return logits if self.last is None else self.last(logits, edge_index, *weight)


class _ExplainedPair(_Explained):
    """A trained model that says of one pair how probable a link is."""

    def __init__(self, task: Task[Any], predictor: Any, pair: Tensor) -> None:
        super().__init__(task, predictor)
        self.predictor, self.head = predictor, None
        self.register_buffer("pair", pair)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        points = self.predictor.space.expmap0(super().forward(x, edge_index))
        logits: Tensor = self.predictor.pair_logits(points, self.pair)
        return logits


def _report_steps(model: nn.Module, progress: Progress, done: int, total: int) -> None:
    """Report each time that a model is called. The first call finds the answer to be kept, each of the others is a step."""
    calls = count(done)
    model.register_forward_hook(lambda *_: progress("explaining", next(calls), total))


def _mask(model: nn.Module, task: Task[Any], position: int | None, epochs: int) -> Tensor:
    """Return the importance of each edge for a node, or for the pair of the model, shape ``(E,)``."""
    from torch_geometric.explain import Explainer, GNNExplainer

    classes = "multiclass_classification" if task.predicts_classes else "regression"
    mode, level = ("binary_classification", "edge") if position is None else (classes, "node")
    explainer = Explainer(
        model,
        GNNExplainer(epochs=epochs),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": mode, "task_level": level, "return_type": "raw"},
    )
    devices = [task.device] if task.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # masks start at random
        torch.manual_seed(0)
        found = explainer(task.x.to_dense(), task.graph.edge_index, index=position)
    mask: Tensor = found.edge_mask.detach().cpu()
    return mask


def _undirected(edges: Tensor, importance: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Take both directions of an edge, and edges given twice, for one."""
    low, high = edges.min(0).values, edges.max(0).values
    keys, place = torch.unique(low * num_nodes + high, return_inverse=True)
    largest = importance.new_zeros(len(keys)).scatter_reduce(0, place, importance, "amax")
    return torch.stack((keys // num_nodes, keys % num_nodes)), largest
