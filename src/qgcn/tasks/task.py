"""A task: one file that owns its settings, split, decoder, loss, score and wording.

An instance is a problem: the data and the split of one graph. It yields batches, and builds the models that solve it.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import torch
from torch import Tensor

from qgcn.data import undirected
from qgcn.manifolds import Space, spaces_of_dimension
from qgcn.models import Capabilities, Encoder
from qgcn.tasks.batches import Loader
from qgcn.tasks.blendable import Blendable, Split
from qgcn.tasks.config import Config
from qgcn.tasks.division import Division
from qgcn.tasks.features import extended
from qgcn.tasks.inputs import Inputs
from qgcn.tasks.insights import Column, Listing, Quality
from qgcn.tasks.minibatches import MiniBatching, loader_of
from qgcn.tasks.origin import Origin
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.ranges import NETWORK, Range, Rung

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from qgcn.yardsticks import Verdict

__all__ = ["Rung", "Scores", "Split", "Task"]

Scores = dict[str, float]
ConfigT = TypeVar("ConfigT", bound=Config)


class Task(Blendable, MiniBatching, ABC, Generic[ConfigT]):
    """Data, split and score of a task; :func:`~qgcn.tasks.register_task` makes a subclass known.

    Args:
        data: The graph.
        config: The settings; those of this task.
        split: The split, as :meth:`make_split` returned it; drawn anew if not given.
        device: Device of all tensors.
    """

    name: ClassVar[str]
    metric: str
    """The score by which models are chosen on validation; larger is better. Settings may name another: :meth:`metric_of`."""
    best_possible: ClassVar[float | None] = None
    """The value of that score at which nothing is left to gain, so that training stops. Not for a score on held-out data: few
    of them can all be right by chance."""
    config_type: ClassVar[type[Config]]
    """Settings and defaults."""
    eval_every: ClassVar[int] = 1
    """Epochs between validations if not asked for."""
    batchable: ClassVar[bool] = True
    """Whether several seeds can be trained as one batched model."""
    held_out: ClassVar[bool] = True
    """Whether something is held out: otherwise the score is of what was trained on, and there is no validation."""
    everything: ClassVar[str] = ""
    """What a model is trained on in the end if asked to (``refit``), such as "all edges"; empty if it cannot be."""
    directed: ClassVar[bool] = False
    """Whether the direction of edges matters; otherwise the graph is made undirected."""
    needs_labels: ClassVar[bool] = False
    """Whether nodes need labels."""
    learns_nodes: ClassVar[bool] = False
    """Whether coordinates of the nodes alone are a solution."""
    predicts_classes: ClassVar[bool] = False
    """Whether a trained model tells the classes of nodes, see :meth:`class_logits`."""
    scores_pairs: ClassVar[bool] = False
    """Whether a trained model tells how likely pairs are joined; its predictor is a :class:`~qgcn.tasks.PairPredictor`."""
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 25, 1), Rung(1 / 3, 50, 1), Rung(1 / 6, 80, 2))
    """Rounds of trials that choose a space; together at most a fifth of training every space in full with two seeds."""
    search: ClassVar[tuple[Range, ...]] = NETWORK
    """Ranges that a search of settings draws from, for those of them that a model has."""
    trial_nodes: ClassVar[int | None] = None
    """Nodes beyond which trials are made on a connected part of the graph; never if not given."""

    @classmethod
    def candidates(cls, dim: int, *, few: bool = False, twins: bool = False) -> list[str]:
        """Return the spaces of so many dimensions that are compared; those that settings do not go with are left out later."""
        return spaces_of_dimension(dim, few=few, twins=twins)

    # --- words -------------------------------------------------------------------------------------------------------

    purpose: ClassVar[str] = ""
    """One sentence on the task, for the command line."""
    example: ClassVar[str] = ""
    """A command to copy."""
    sweep_example: ClassVar[str] = "--data cora --models qgcn:Q15,1 gcn:E16"
    """Data and models of another one, a search of settings."""
    aim: ClassVar[str] = ""
    """Purpose of the points that a model learns, as the end of a sentence: "so that ..."."""
    pair_order: ClassVar[str] = "Each leads from the first node to the second."
    """Sentence on what the two nodes of a pair are, where direction matters."""
    titles: ClassVar[dict[str, str]] = {}
    """Names of scores as they are shown, where they are not those of the results."""
    curve_title: ClassVar[str] = ""
    """Name of the metric in a figure of training, if it is another one."""
    division: Division | None = None
    """How it is trained in blocks of nodes; nothing if it is not."""
    main_scores: tuple[str, ...] = ()
    """Scores that a table of results has room for, in its order; all of them if not given."""
    plain_scores: ClassVar[frozenset[str]] = frozenset()
    """Scores that are no shares, and not shown in per cent."""

    def __init__(
        self,
        data: "Data",
        config: ConfigT,
        *,
        split: Mapping[str, Tensor] | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        if data.num_nodes is None or data.num_nodes < 2:
            raise ValueError(f"a graph needs at least 2 nodes, got {data.num_nodes}")
        self.source = data  # as it was given: with the user's direction
        self.data = data if self.directed else undirected(data)
        self.config, self.device = config, torch.device(device)
        self.num_nodes = int(data.num_nodes)
        self.origin: Origin | None = None
        self.split: dict[str, Tensor] = self.make_split(self.data, config) if split is None else dict(split)
        self.prepare()
        edges, weights = self.message_edges()
        self._inputs = Inputs(edges, weights, self._features(edges), self.num_nodes)
        self._configure()

    @classmethod
    def of(cls, data: "Data", **settings: Any) -> Self:
        """Build the problem of a graph from settings by name."""
        named = {"task": cls.name, "data": str(getattr(data, "name", None) or "graph")}
        return cls(data, cast("ConfigT", Config.checked(named | settings)))

    def reconfigured(self, config: Config) -> Self:
        """Return the same problem for another model, space or training; data, split and matrices are shared.

        Raises:
            ValueError: A setting differs that the problem itself depends on.
        """
        for name in self.config.of_problem():
            if getattr(config, name, None) != getattr(self.config, name):
                raise ValueError(
                    f"{name} is fixed by the problem: build another one for {name} = {getattr(config, name, None)!r}"
                )
        made = copy.copy(self)
        made.config = cast("ConfigT", config)
        made._configure()
        return made

    def changed(self, data: "Data") -> Self:
        """Return the problem of a changed graph, to ask a model about that was trained on this one; nothing is held out of it.

        Nodes are found by their names. Known nodes keep their features unless others are given. New nodes need features if
        the model takes any; where inputs are one-hot, theirs are zero, and the model knows them by their neighbours.

        Args:
            data: The graph, with nodes and edges that may not have been there in training.

        Raises:
            ValueError: The graph has other features than the model was trained with, or none for a new node.
        """
        made = copy.copy(self)
        made.source = data
        made.data = copy.copy(data if self.directed else undirected(data))
        made.num_nodes = int(data.num_nodes or 0)
        made.origin = Origin.of(data, self.data)
        if (x := made.origin.features(made.node_features(), self.node_features())) is not None:
            made.data.x = x
        elif made.origin.all_new and not self.config.degree_features:
            raise ValueError(
                f"no node of the graph given was there in training: {made.origin.newcomer!r} and all others are new"
            )
        edges, weights = made.known_edges()
        made._inputs = Inputs(edges, weights, made._features(edges), made.num_nodes)
        made._configure()
        return made

    def _configure(self) -> None:
        """Lay out features and graph as the model takes them."""
        config = self.config
        self.capabilities: Capabilities = config.capabilities
        dtype = getattr(torch, config.precision)
        self.x = self._inputs.features(self.capabilities.sparse_features, self.device, dtype)
        self.in_features = int(self.x.shape[1])
        # networks that take edges add loops of their own
        loops, aggregation = self.capabilities.graph == "matrix", config.options.get("aggregation", "sym")
        self.graph = self._inputs.graph(loops, aggregation, self.device, dtype)
        self.loader: Loader = loader_of(self)

    def _features(self, edges: Tensor) -> Tensor:
        config, origin, extra = self.config, self.origin, self.extra_features()
        return extended(
            self.node_features(),
            edges,
            self.num_nodes,
            degree_features=config.degree_features,
            row_normalize=config.row_normalize,
            one_hot=config.one_hot,
            extra=extra
            if extra is None or origin is None
            else origin.rows(extra, "embedding by the run that training started from"),
            places=None if origin is None else origin.places,
            width=0 if origin is None else origin.num_nodes,
        )

    # --- what a task decides -----------------------------------------------------------------------------------------

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise ``ValueError`` if settings do not go together."""
        cls.check_batches(config)
        if config.capabilities.learns_nodes and not cls.learns_nodes:
            raise ValueError(f"the model {config.model} learns coordinates of nodes, nothing for {cls.name}; try qgcn")
        if config.refit and not cls.everything:
            why = "the task does not say what to train on" if cls.held_out else "nothing is held out"
            raise ValueError(f"refit does nothing for {cls.name}: {why}; leave it out")

    @classmethod
    def metric_of(cls, config: Config) -> str:
        """Return the score by which models with these settings are chosen."""
        return cls.metric

    @classmethod
    def make_split(cls, data: "Data", config: ConfigT) -> dict[str, Tensor]:
        """Draw what is held out, as tensors by name that a run keeps; nothing if the graph's own masks say it."""
        return {}

    def refitted(self) -> Self:
        """Return the same problem with nothing held out, for the last training of a model that is to be used.

        Raises:
            ValueError: The task does not say what that is, see :attr:`everything`.
        """
        raise ValueError(f"{self.name} does not say what a model is refitted on")

    def blinded(self) -> Self:
        """Return the same problem without the answers of the test, for whoever chooses settings; scores need them."""
        return self

    def prepare(self) -> None:
        """Check the data, and move what the task needs of it to the device."""

    def known_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return all edges of the graph, shape ``(2, E)``, and their weights if the task uses them."""
        return self.data.edge_index, getattr(self.data, "edge_weight", None)

    def known_pairs(self) -> Tensor:
        """Return the pairs that are no news, shape ``(2, P)``: whoever asks for links is not told of them. All known edges."""
        return self.known_edges()[0]

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the edges that messages may pass along in training, and their weights: all that are known."""
        return self.known_edges()

    def node_features(self) -> Tensor | None:
        """Return the features of the nodes that the model may see."""
        return getattr(self.data, "x", None)

    def extra_features(self) -> Tensor | None:
        """Return further features, shape ``(N, n)``, which are not normalised."""
        return None

    @abstractmethod
    def build_predictor(self) -> Predictor:
        """Build a network with its decoder, weights drawn from PyTorch's global generator."""

    def build_encoder(self, space: str | None = None, **changes: Any) -> Encoder:
        """Build the network alone, with other options if need be."""
        config = self.config
        return config.model_entry.build(self.in_features, space or config.space, config.options | changes)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw what a training step needs beside its targets; the same shapes every time."""
        return ()

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the arguments of the predictor's loss (``train``) or prediction beside features and graph."""
        return ()

    def nodes_needed(self, split: Split) -> Tensor | None:
        """Return the nodes whose outputs a split needs, shape ``(n,)``; ``None`` for all."""
        return None

    def seconds_of_step(self, predictor: Predictor) -> tuple[float, float] | None:
        """Estimate the seconds of a training step and of a validation of a model from a part of each.

        Nothing where a step is short enough to be timed as it is.
        """
        return None

    @property
    def is_static(self) -> bool:
        """Whether every training step is the same computation on the same tensors, so that it can be recorded."""
        return False

    @abstractmethod
    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the validation score by which one model is chosen, float64, shape ``()``, on the device.

        Args:
            prediction: Of one model.
            space: The space of its embedding; in a batch of models, of any of them.
        """

    def tie_breaker(self, prediction: Tensor) -> Tensor:
        """Return what decides between models of equal :meth:`selection`, float64, shape ``()``; the larger one is chosen.

        Of equal ones, the first is chosen.

        Args:
            prediction: Of one model, on validation.
        """
        return torch.zeros((), dtype=torch.float64, device=prediction.device)

    @abstractmethod
    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Score one model's prediction on a split."""

    # --- what a trained model can be asked ---------------------------------------------------------------------------

    def embed(self, predictor: Predictor) -> Tensor:
        """Return the points of the nodes by a trained model, shape ``(N, d)``."""
        return self.loader.embed(predictor)

    def adapted(self, predictor: Predictor) -> Predictor:
        """Return a model that was trained on another graph as it answers about this one: itself, unless it knows the graph."""
        return predictor

    def class_logits(self, predictor: Predictor) -> Tensor:
        """Return the logits of the classes of all nodes, shape ``(N, C)``; for tasks that predict classes."""
        raise NotImplementedError

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return cheap methods that a model should beat, by name; each computes its scores on the test split.

        A method may have some of the scores only, :attr:`metric` among them.
        """
        return {}

    # --- what it says ------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return what the scores are of, in a few words."""
        return "test"

    def outcome(self, value: str) -> str:
        """Return how a run ended in a sentence, given the score as text."""
        return f"Its {self.titles.get(self.metric, self.metric)} is {value}."

    def verdict(self, score: tuple[float, float], yardsticks: Mapping[str, Scores]) -> "Verdict | None":
        """Compare the score of all seeds with the best yardstick; ``None`` without yardsticks.

        Args:
            score: Mean and standard deviation of :attr:`metric` over the seeds.
            yardsticks: Scores by name.
        """
        from qgcn.yardsticks import judge

        config, metric = self.config, self.metric
        others = {name: scores[metric] for name, scores in yardsticks.items()}
        title, percent = self.titles.get(metric, metric.replace("_", " ")), metric not in self.plain_scores
        return judge(f"{config.model} in {config.space}", *score, config.seeds, others, title=title, percent=percent)

    def caution(self) -> str:
        """Return a warning that belongs to every result, or nothing."""
        return ""

    def remarks(self) -> list[str]:
        """Return remarks on how the data are used."""
        used = getattr(self.data, "edge_weight", None) is None or self.capabilities.graph == "matrix"
        return [] if used else ["weights of edges are not used"]

    def features_used(self) -> str:
        """Return which features the model sees, in words."""
        return "one-hot" if (x := self.node_features()) is None else str(x.shape[1])

    def about_results(self) -> dict[str, Any]:
        """Return what a file of results says beside scores."""
        return {}

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return what a trained model tells about nodes: columns to colour them by, and scores by groups."""
        return [], []

    def listings(self, predictor: Predictor) -> list[Listing]:
        """Return more to look through, node by node or pair by pair, beside what every report lists."""
        return []

    def can_batch(self) -> bool:
        """Tell whether seeds can be trained together."""
        return self.config.batch_size is None and (self.side_by_side or (self.batchable and self.capabilities.batchable))

    def __repr__(self) -> str:
        edges = self.data.edge_index.shape[1]
        graph = f"{self.config.data}: {self.num_nodes:,} nodes, {edges if self.directed else edges // 2:,} edges"
        return f"{type(self).__name__}({graph}; {self.config.model} in {self.config.space})"
