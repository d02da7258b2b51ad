"""The settings of a run: one schema for files, flags and Python."""

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from torch.random import fork_rng

from qgcn.manifolds import parse_space

__all__ = ["OF_TASK", "Config", "defaults_of", "read_config"]

TaskName = Literal["reconstruction", "classification", "links"]


OF_TASK: dict[str, dict[str, Any]] = {
    "reconstruction": {
        "model": "shallow",
        "layers": 1,
        "epochs": 2000,
        "lr": 0.03,
        "adam_decay": 0.99,
        "schedule": "cosine",
    },
    "classification": {},
    "links": {
        "aggregation": "mean",
        "feature_dropout": 0.5,
        "edge_dropout": 0.5,
        "weight_decay": 0.0005,
        "epochs": 400,
        "patience": 100,
    },
}
"""Defaults of the tasks where they are not those of the keys."""
GONE = {"convolve": "reconstruction does not smooth coordinates any more"}
"""Keys of former versions."""


class Config(BaseModel):
    """Everything a run depends on; the same keys on the command line, with ``-`` for ``_``."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    task: TaskName = Field(description="What to learn: reconstruction, classification or links.")
    data: str = Field(description="Name of a data set, or the path of a graph: CSV, TSV, npz, GraphML.")
    features: str | None = Field(None, description="File of node features: CSV or TSV with ids first, npz or npy.")
    labels: str | None = Field(None, description="File of node labels: CSV or TSV, id and label.")
    start: str | None = Field(None, description="Classification: folder of a finished run whose embedding joins the features.")
    degree_features: bool = Field(False, description="Append a one-hot of min(degree, 5), of training edges only.")
    one_hot: bool = Field(False, description="Append a one-hot of each node to its features.")
    row_normalize: bool = Field(False, description="Divide each node's features by the sum of their magnitudes.")
    protocol: Literal["leak-free", "hgcn"] = Field("leak-free", description="Links: how edges are split.")

    model: str = Field("qgcn", description="Model: qgcn, qnn, hgcn, hnn, kappa-gcn, gcn, gat, sage, sgc, mlp, shallow.")
    space: str = Field(
        "", description="Space of the embedding: E16, H16, S16, Q15,1, H8xS8, ...; on the command line auto:16 has one chosen."
    )
    layers: Annotated[int, Field(ge=1, le=64)] = Field(2, description="Layers, the classifier's convolution included.")
    hidden: str | None = Field(None, description="Space of all layers but the last; the same as the last if not given.")
    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="How neighbours are aggregated.")
    attention: bool = Field(False, description="Learn the weights of the neighbours.")
    activation: Literal["relu", "tanh", "sigmoid", "elu", "leaky_relu", "identity"] = Field(
        "relu", description="Tangential activation between layers."
    )
    bias: bool = Field(True, description="Translate by a learned bias in each layer.")
    skip: bool = Field(False, description="Take the mean of all layers' outputs.")
    beta: Annotated[float, Field(lt=0)] = Field(-1.0, description="Where the curvature 1/beta of each layer starts.")
    learnable: bool = Field(True, description="Learn the curvature of each layer.")
    projection: bool = Field(False, description="Enter the space by the double projection of the paper's Algorithm 1.")
    perturbation: Annotated[float, Field(ge=0)] = Field(0.0, description="Noise of that projection; the paper takes 0.02.")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, description="Share of tangent coordinates dropped.")
    feature_dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, description="Share of input features dropped.")
    edge_dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, description="Share of edges without messages in a step.")
    head: Literal["convolution", "linear"] = Field("convolution", description="Classification: what the classifier is.")

    objective: Literal["neighbours", "paper", "distortion"] = Field("neighbours", description="Reconstruction: the objective.")
    balance: bool = Field(True, description="Reconstruction: let nodes count equally instead of edges.")
    use_features: bool = Field(False, description="Reconstruction: start from node features instead of one-hot ones.")
    temperature: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Reconstruction: where the temperature starts; 20 for shallow and 1 for networks if not given."
    )
    confine: Annotated[float, Field(ge=0, le=1)] = Field(
        0.2, description="Reconstruction: share of the epochs a shallow model stays in the larger Riemannian part of its space."
    )
    epochs: Annotated[int, Field(ge=1)] = Field(200, description="Most training steps.")
    patience: Annotated[int, Field(ge=1)] | None = Field(None, description="Stop after so many epochs without a better score.")
    lr: Annotated[float, Field(gt=0)] = Field(0.01, description="Learning rate.")
    curvature_lr: Annotated[float, Field(gt=0)] = Field(0.0001, description="Learning rate of the curvatures.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="L2 regularisation of the weights.")
    adam_decay: Annotated[float, Field(gt=0, lt=1)] = Field(0.999, description="Decay of Adam's second moments.")
    schedule: Literal["constant", "cosine"] = Field("constant", description="Learning rate over time.")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="Largest norm of a gradient.")
    eval_every: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Epochs between validations; 1 for classification, 5 for links, 50 for reconstruction if not given."
    )

    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(0, description="First seed.")
    seeds: Annotated[int, Field(ge=1, le=10000)] = Field(1, description="Number of seeds; mean and deviation are reported.")
    split_seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(0, description="Seed of the split, the same for all seeds.")
    batch_seeds: bool = Field(True, description="Train all seeds as one batched model where that is possible.")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to train.")
    precision: Literal["float32", "float64"] = Field("float32", description="Type of all numbers.")
    deterministic: bool = Field(False, description="Insist on deterministic algorithms on a GPU.")
    checkpoint_seconds: Annotated[float, Field(ge=0)] = Field(
        10.0, description="Time between checkpoints: what a killed run loses at most."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_the_task(cls, values: Any) -> Any:
        """Fill in what is not given with the defaults of the task."""
        if isinstance(values, dict) and values.get("space") == "":
            raise ValueError("space must name a space such as Q15,1, got an empty name")
        if not isinstance(values, dict) or values.get("task") not in OF_TASK:
            return values
        own = defaults_of(values["task"], values.get("model"))
        return own | {name: value for name, value in values.items() if value is not None or own.get(name) is None}

    @field_validator("data")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a data set or a file is needed")
        return value

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        from qgcn.models import build, default_space  # here, so that reading a config does not import PyTorch Geometric

        if self.start is not None and self.task != "classification":
            raise ValueError(
                f"start is for classification: another run's embedding knows the edges that {self.task} is scored on"
            )
        if self.model == "shallow" and self.task != "reconstruction":
            raise ValueError(f"the model shallow is for reconstruction, it learns nothing for {self.task}; try qgcn")
        features = ("degree_features", "one_hot", "row_normalize", "use_features")
        idle = (*features, "weight_decay", "edge_dropout", "aggregation", "layers")
        usual = {name: OF_TASK[self.task].get(name, type(self).model_fields[name].default) for name in idle}
        given = next((name for name in idle if getattr(self, name) != usual[name]), None)
        if self.model == "shallow" and given is not None:
            raise ValueError(f"{given} has no effect on the model shallow, which learns coordinates alone; try model qgcn")
        space = self.space or default_space(self.model)
        object.__setattr__(self, "space", str(parse_space(space)))
        if self.hidden is not None:
            object.__setattr__(self, "hidden", str(parse_space(self.hidden)))
        with fork_rng(devices=[]):  # do they go together? asking should change nothing, not even what is drawn next
            build(self.model, 1, self.space, layers=self.layers, hidden=self.hidden, skip=self.skip)
        return self

    def model_options(self) -> dict[str, Any]:
        """Return the arguments of :func:`qgcn.models.build` beside its name, features and space."""
        shape = ("layers", "hidden", "aggregation", "attention", "activation", "bias", "skip")
        names = (*shape, "beta", "learnable", "projection", "perturbation", "dropout", "feature_dropout")
        options = {name: getattr(self, name) for name in names}
        return options | ({"confine": self.confine} if self.model == "shallow" else {})

    def task_options(self) -> dict[str, Any]:
        """Return the arguments of the task beside its data."""
        own = {
            "reconstruction": ("objective", "balance", "use_features", "temperature"),
            "classification": ("head",),
            "links": ("protocol", "split_seed"),
        }
        common = {"model": self.model, "space": self.space, "row_normalize": self.row_normalize}
        common |= {"degree_features": self.degree_features, "one_hot": self.one_hot, "edge_dropout": self.edge_dropout}
        return common | self.model_options() | {name: getattr(self, name) for name in own[self.task]}

    @classmethod
    def checked(cls, values: dict[str, Any], origin: str = "", elsewhere: Collection[str] = ()) -> "Config":
        """Build a config; what is wrong is told in one line that names the key.

        Args:
            values: Keys and values.
            origin: Where they come from, for the message.
            elsewhere: Keys that do not come from there.
        """

        def where(key: str) -> str:
            return f" in {origin}" if origin and key not in elsewhere else ""

        for key in values:
            if key in GONE:
                raise ValueError(f"the key {key!r}{where(key)} is gone, {GONE[key]}: leave it out")
            if key not in cls.model_fields:
                near = difflib.get_close_matches(str(key), cls.model_fields, n=1, cutoff=0.5)
                hint = f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(cls.model_fields)})"
                raise ValueError(f"unknown key {key!r}{where(key)}{hint}")
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            message = first["msg"].removeprefix("Value error, ")
            if not first["loc"]:
                raise ValueError(message) from None
            name = str(first["loc"][0])
            given = "" if first["type"] == "missing" else f", got {first['input']!r}"
            raise ValueError(f"{name}{where(name)}: {message[0].lower()}{message[1:]}{given}") from None


def defaults_of(task: str, model: str | None = None) -> dict[str, Any]:
    """Return the keys that a task sets if they are not given; PyTorch Geometric's own networks aggregate in their own ways."""
    from qgcn.models.named import EuclideanNetwork

    own = OF_TASK[task]
    return {name: value for name, value in own.items() if name != "aggregation" or model not in EuclideanNetwork.KINDS}


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a YAML file of keys and values.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not YAML, or not a list of keys.
    """
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"no config file {path}") from None
    except OSError as error:
        raise type(error)(f"cannot read config file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not YAML: it is no text") from None
    except yaml.YAMLError as error:
        problem = " ".join(str(getattr(error, "problem", error)).split())
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{path} is not YAML: {problem}" + (f" (line {mark.line + 1})" if mark else "")) from None
    if not isinstance(values, dict):
        kind = "nothing" if values is None else type(values).__name__
        raise ValueError(f"{path} must hold keys and values such as 'epochs: 100', got {kind}")
    return {str(key): value for key, value in values.items()}
