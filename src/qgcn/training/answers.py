"""Questions to a trained run: classes, links, recommendations, neighbours, by the user's own names of nodes."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from qgcn.answer import Answer
from qgcn.blending import blend
from qgcn.data import NodeNames, as_data
from qgcn.embedding import Embedding
from qgcn.export import as_networkx
from qgcn.progress import Progress, silent
from qgcn.tasks import TASKS, Predictor, Task
from qgcn.tasks.insights import class_names
from qgcn.training.ensemble import Ensemble, Member, over_seeds
from qgcn.training.explaining import explain
from qgcn.training.pairs import BLOCK_ROWS, KnownPairs, asked_nodes, best_of_rows, best_pairs, check_count, read_pairs

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from torch_geometric.data import Data

__all__ = ["Answers", "ChangedGraph"]

Array = np.ndarray[Any, Any]


class Answers(ABC):
    """Questions that a trained run answers, about its own graph or a changed one.

    Every question takes ``seed``, the seed whose model answers (default: the mean over all seeds). Nodes are named as the
    user named them, and rows of answers about all nodes are in the order of :attr:`node_ids`.
    """

    @property
    @abstractmethod
    def answering(self) -> Task[Any]:
        """The problem that questions are about."""

    @property
    @abstractmethod
    def seeds(self) -> list[int]:
        """All seeds."""

    @abstractmethod
    def predictor(self, seed: int) -> Predictor:
        """Return the model of a seed."""

    @abstractmethod
    def blend_weights(self, seed: int) -> torch.Tensor:
        """Return the weights of a seed's network and of the task's cheap predictors, fitted on validation."""

    @abstractmethod
    def embedding(self, seed: int | None = None) -> Embedding:
        """Return the embedding of a seed (default: the first)."""

    @abstractmethod
    def check_finished(self) -> None:
        """Raise ``ValueError`` unless all seeds are trained."""

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of the columns of :meth:`predict_proba`."""
        self.check_asked("predicts_classes", "no classes")
        return class_names(self.answering.data)

    @cached_property
    def names(self) -> NodeNames:
        """Names of the nodes, and the way back from a name to its node."""
        return NodeNames.of(self.answering.data)

    @property
    def node_ids(self) -> Array:
        """Names of the nodes, shape ``(N,)``."""
        return self.names.ids

    def with_graph(self, graph: Any = None, features: Any = None, **columns: str | int | None) -> "Answers":
        """Return the same questions about a changed graph, with nodes and edges that were not there in training.

        Nodes are found by their names. A network answers for new nodes from their features and edges; the model ``shallow``
        places them among the known ones, which stay where they are.

        Args:
            graph: Anything that :func:`qgcn.data.read_graph` takes (default: the graph of the run).
            features: Features of its nodes, as :func:`qgcn.data.read_graph` takes them (default: those of the graph; else
                those of the run, which new nodes do not have).
            columns: ``source``, ``target`` and ``weight``, columns of a table of edges, as for :func:`qgcn.data.read_graph`.

        Raises:
            OSError: A file cannot be read.
            ValueError: The run is not finished, or the graph does not fit the model.
        """
        self.check_finished()
        given: dict[str, Any] = {name: column for name, column in columns.items() if column is not None}
        if graph is None and given:
            raise ValueError(f"{next(iter(given))} names a column of a changed graph: give the graph, too")
        if graph is None and features is None:
            return self
        return ChangedGraph(self, as_data(self.answering.source if graph is None else graph, features=features, **given))

    # --- nodes -------------------------------------------------------------------------------------------------------

    def predict(self, *, seed: int | None = None) -> Array:
        """Return the name of the most probable class of every node, shape ``(N,)``.

        Raises:
            ValueError: The run learned no classes or is not finished.
        """
        found: Array = np.asarray(self.classes)[self.predict_proba(seed=seed).argmax(1)]
        return found

    @torch.no_grad()
    def predict_proba(self, *, seed: int | None = None, return_std: bool = False) -> Any:
        """Return the calibrated probability of every class for every node, float64, shape ``(N, C)``.

        Args:
            seed: The seed whose model answers.
            return_std: Also return the standard deviation over the seeds.

        Raises:
            ValueError: The run learned no classes or is not finished.
        """
        self.check_asked("predicts_classes", "no classes")
        others, each = self.answering.class_terms(), []
        for one in self._chosen(seed):
            own = self.answering.class_logits(self.predictor(one)).double().unsqueeze(-1)
            logits = blend(own if others is None else torch.cat((own, others), dim=-1), self.blend_weights(one))
            each.append(logits.softmax(1).cpu().numpy())
        return over_seeds(np.stack(each), return_std)

    def predictions(self, *, seed: int | None = None) -> Answer:
        """Return the most probable class of every node and its probability.

        Returns:
            Columns ``node``, ``class``, ``probability``; with several seeds also ``spread``.
        """
        mean, spread = self.predict_proba(seed=seed, return_std=True)
        best = mean.argmax(1)
        where = np.arange(len(best)), best
        columns = {"node": self.node_ids, "class": np.asarray(self.classes)[best], "probability": mean[where]}
        return Answer(columns | ({"spread": spread[where]} if len(self._chosen(seed)) > 1 else {}))

    # --- pairs -------------------------------------------------------------------------------------------------------

    def score_links(self, pairs: Any, *, seed: int | None = None, return_std: bool = False, raw: bool = False) -> Any:
        """Return how probable links between pairs of nodes are, calibrated, float64, shape ``(P,)``.

        Probabilities are those of a collection of pairs half of which are links, as in validation. Among all pairs of a graph
        links are far rarer: there, take them as scores. A pair of a node with itself has none: NaN.

        Args:
            pairs: Names of both nodes of each pair, shape ``(P, 2)``; the path of a table whose first two columns are names; or
                a tensor of shape ``(2, P)`` with positions in :attr:`node_ids`, as in PyTorch Geometric.
            seed: The seed whose model answers.
            return_std: Also return the standard deviation over the seeds.
            raw: Return logits instead of probabilities: they tell apart what is almost certain.

        Raises:
            OSError: The file cannot be read.
            ValueError: The run learned no links or is not finished, a node is unknown, or something is not a pair.
        """
        self.check_asked("scores_pairs", "no links")
        places, models = read_pairs(pairs, self.names), self.models(seed)
        return over_seeds(models.logits(places) if raw else models.probabilities(places), return_std)

    def link_scores(self, pairs: Any, *, seed: int | None = None) -> Iterator[Answer]:
        """Yield pairs with their probabilities in the order given, in blocks; arguments as for :meth:`score_links`.

        Yields:
            Columns ``node``, ``other``, ``probability``; with several seeds also ``spread``.
        """
        self.check_asked("scores_pairs", "no links")
        places, models = read_pairs(pairs, self.names).numpy(), self.models(seed)
        firsts = range(0, max(1, places.shape[1]), BLOCK_ROWS)
        parts = (places[:, first : first + BLOCK_ROWS] for first in firsts)
        return (models.probable(self.names, part, np.arange(part.shape[1])) for part in parts)

    def recommend(
        self,
        nodes: Any = None,
        k: int = 20,
        exclude_known: bool = True,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Answer:
        """Return the most probable links of nodes, the best first.

        Args:
            nodes: Names of nodes, or one name (default: all nodes).
            k: Number of links of each node.
            exclude_known: Leave out links that the graph has already; of a hierarchy all pairs that it implies.
            seed: The seed whose model answers.
            progress: Progress callback, in nodes.

        Returns:
            Columns ``node``, ``other``, ``probability``; with several seeds also ``spread``; ``k`` rows a node, or fewer.

        Raises:
            ValueError: The run learned no links or is not finished, or a node is unknown.
        """
        return Answer.joined(self.recommendations(nodes, k, exclude_known, seed=seed, progress=progress))

    def recommendations(
        self,
        nodes: Any = None,
        k: int = 20,
        exclude_known: bool = True,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Iterator[Answer]:
        """Yield what :meth:`recommend` returns in blocks of nodes, one of which is in memory at a time."""
        self.check_asked("scores_pairs", "no links")
        check_count(k)
        names, models, asked = self.names, self.models(seed), asked_nodes(nodes, self.names)
        blocks = best_of_rows(models.row_scores, asked, len(names), k, self._known if exclude_known else None, progress)
        return (models.probable(names, np.stack((asked[which], others)), which) for which, others in blocks)

    def missing_links(self, k: int = 100, *, seed: int | None = None, progress: Progress = silent) -> Answer:
        """Return the most probable links of the whole graph that it does not have, the best first, each once.

        Args:
            k: Number of links.
            seed: The seed whose model answers.
            progress: Progress callback, in nodes.

        Returns:
            Columns ``node``, ``other``, ``probability``; with several seeds also ``spread``.
        """
        self.check_asked("scores_pairs", "no links")
        check_count(k)
        models, directed = self.models(seed), self.answering.directed
        pairs = best_pairs(models.row_scores, len(self.names), k, self._known, progress, ordered=directed)
        return models.probable(self.names, pairs, np.zeros(pairs.shape[1], dtype=np.int64))

    def neighbors(self, nodes: Any, k: int = 10, *, seed: int | None = None) -> Answer:
        """Return the nearest nodes in the embedding, the nearest first.

        Args:
            nodes: Names of nodes, or one name.
            k: Number of neighbours of each.
            seed: The seed whose embedding is taken (default: the mean distance over all seeds).

        Returns:
            Columns ``node``, ``neighbor``, ``distance``, ``linked`` (whether the graph has that link); with several seeds also
            ``spread``.

        Raises:
            ValueError: The run is not finished, or a node is unknown.
        """
        check_count(k)
        self.check_finished()
        names, models, asked = self.names, self.models(seed), asked_nodes(nodes, self.names)
        blocks = best_of_rows(models.row_nearness, asked, len(names), k)
        return Answer.joined(models.near(names, np.stack((asked[i], others)), i, self._links) for i, others in blocks)

    def explain(self, node: Any, other: Any = None, k: int = 10, **options: Any) -> Answer:
        """Return the edges that matter most for a node or a pair; see :func:`qgcn.training.explaining.explain`."""
        return explain(self, node, other, k, **options)

    # --- everything --------------------------------------------------------------------------------------------------

    def table(self, *, seed: int | None = None, tangent: bool = False) -> Answer:
        """Return the coordinates of every node, and its label and predicted class where there are classes.

        Args:
            seed: The seed whose embedding is taken (default: the first). Classes are predicted by its model (default: by all).
            tangent: Give tangent coordinates at the origin, for methods that expect flat space.

        Returns:
            Columns ``node``, ``x0``, ``x1``, ...; with classes also ``label`` (empty for none), ``predicted`` and
            ``probability``.
        """
        self.check_finished()
        task = self.answering
        points, space, ids = self.embedding(seed)
        values = (space.logmap0(points) if tangent else points).cpu().numpy()
        columns = {"node": ids} | {f"x{k}": column for k, column in enumerate(values.T)}
        if task.predicts_classes:
            probability, names = self.predict_proba(seed=seed), np.asarray(self.classes)
            if task.origin is None:  # the labels of a changed graph may be others
                label = task.data.y.cpu().numpy()
                columns["label"] = np.where(label >= 0, names[label], "")
            columns |= {"predicted": names[probability.argmax(1)], "probability": probability.max(1)}
        return Answer(columns)

    def to_frame(self, *, seed: int | None = None, tangent: bool = False) -> "pd.DataFrame":
        """Return :meth:`table` as a pandas data frame."""
        return self.table(seed=seed, tangent=tangent).to_frame()

    def to_networkx(self, *, seed: int | None = None, tangent: bool = False) -> "nx.Graph":
        """Return the graph as the model sees it, with the columns of :meth:`table` as attributes of its nodes.

        It is undirected unless the task uses the direction of edges; weights are the edge attribute ``weight``.
        """
        task = self.answering
        edges = self.node_ids[task.data.edge_index.cpu().numpy()]
        return as_networkx(self.table(seed=seed, tangent=tangent), edges, task.data.get("edge_weight"), task.directed)

    # --- models ------------------------------------------------------------------------------------------------------

    def models(self, seed: int | None = None) -> Ensemble:
        """Return the trained model of a seed, or those of all, with their embeddings of the graph."""
        return Ensemble([self._member(one) for one in self._chosen(seed)], self.answering.pair_terms())

    @torch.no_grad()
    def _member(self, seed: int) -> Member:
        """Return the model of a seed with its embedding; remembered."""
        if seed not in self._members:
            predictor = self.predictor(seed)
            self._members[seed] = Member(predictor, self.answering.embed(predictor), self.blend_weights(seed))
        return self._members[seed]

    @cached_property
    def _members(self) -> dict[int, Member]:
        return {}

    @cached_property
    def _links(self) -> KnownPairs:
        """Links of the graph."""
        return KnownPairs.of(self.answering.known_edges()[0], len(self.names), ordered=self.answering.directed)

    @cached_property
    def _known(self) -> KnownPairs:
        """Links that are no news: those of the graph, and what they imply."""
        return KnownPairs.of(self.answering.known_pairs(), len(self.names), ordered=self.answering.directed)

    def _chosen(self, seed: int | None) -> list[int]:
        if seed is not None:
            self.check_seed(seed)
        return self.seeds if seed is None else [seed]

    def check_seed(self, seed: int) -> None:
        """Raise ``ValueError`` if there is no such seed."""
        if seed not in self.seeds:
            known = f"seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else f"seed {self.seeds[0]} alone"
            raise ValueError(f"the run has {known}, got {seed}")

    def check_asked(self, ability: str, what: str) -> None:
        """Raise unless the task can answer and the run is finished."""
        if not getattr(self.answering, ability):
            able = " or ".join(f"qgcn train {name}" for name, task in TASKS.items() if getattr(task, ability))
            raise ValueError(f"a run of {self.answering.name} predicts {what}: train one with {able}")
        self.check_finished()


class ChangedGraph(Answers):
    """The models of a run, asked about a graph that has changed since training; see :meth:`Answers.with_graph`.

    Args:
        run: The run.
        data: The graph.
    """

    def __init__(self, run: Answers, data: "Data") -> None:
        self.run = run
        self._task = run.answering.changed(data)

    @property
    def answering(self) -> Task[Any]:
        """The problem of the changed graph."""
        return self._task

    @property
    def seeds(self) -> list[int]:
        """All seeds of the run."""
        return self.run.seeds

    @property
    def classes(self) -> list[str]:
        """Names of the classes that the run learned."""
        return self.run.classes

    def predictor(self, seed: int) -> Predictor:
        """Return the model of a seed."""
        return self._task.adapted(self.run.predictor(seed))

    def blend_weights(self, seed: int) -> torch.Tensor:
        """Return the weights of a seed's network and of the task's cheap predictors."""
        return self.run.blend_weights(seed)

    def check_finished(self) -> None:
        """Raise ``ValueError`` unless all seeds are trained."""
        self.run.check_finished()

    def embedding(self, seed: int | None = None) -> Embedding:
        """Return the embedding of the changed graph by a seed (default: the first), with the curvature that was learned.

        Raises:
            ValueError: There is no such seed.
        """
        (member, *_) = self.models(self.seeds[0] if seed is None else seed).members
        return Embedding(member.points.cpu(), copy.deepcopy(member.predictor.space).cpu(), self.node_ids)
