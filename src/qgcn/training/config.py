"""The settings of a run: one schema for files, flags and Python."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from qgcn.manifolds import parse_space

__all__ = ["Config", "read_config"]

TaskName = Literal["reconstruction", "classification", "links"]


class Config(BaseModel):
    """Everything a run depends on; the same keys on the command line, with ``-`` for ``_``."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    task: TaskName = Field(description="What to learn: reconstruction, classification or links.")
    data: str = Field(description="Name of a data set, or the path of a graph: CSV, TSV, npz, GraphML.")
    features: str | None = Field(None, description="File of node features: CSV or TSV with ids first, npz or npy.")
    labels: str | None = Field(None, description="File of node labels: CSV or TSV, id and label.")
    degree_features: bool = Field(False, description="Airport: add the one-hot degree of the hyperbolic literature.")
    one_hot: bool = Field(False, description="Append a one-hot of each node to its features.")
    row_normalize: bool = Field(True, description="Divide each node's features by their sum.")

    model: str = Field("qgcn", description="Model: qgcn, qnn, hgcn, hnn, kappa-gcn, gcn, gat, sage, sgc, mlp.")
    space: str = Field("", description="Space of the embedding: E16, H16, S16, Q15,1, H8xS8, ...  [model's own if not given]")
    layers: Annotated[int, Field(ge=1, le=64)] = Field(2, description="Number of layers, the classifier's convolution included.")
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
    edge_dropout: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, description="Share of edges that carry no messages in a step.")
    head: Literal["convolution", "linear"] = Field("convolution", description="Classification: what the classifier is.")

    objective: Literal["neighbours", "paper", "distortion"] = Field("neighbours", description="Reconstruction: the objective.")
    balance: bool = Field(False, description="Reconstruction: let nodes count equally instead of edges.")
    use_features: bool = Field(False, description="Reconstruction: start from node features instead of one-hot ones.")
    protocol: Literal["leak-free", "hgcn"] = Field("leak-free", description="Links: how edges are split.")

    epochs: Annotated[int, Field(ge=1)] = Field(200, description="Most training steps.")
    patience: Annotated[int, Field(ge=1)] | None = Field(None, description="Stop after so many epochs without a better score.")
    lr: Annotated[float, Field(gt=0)] = Field(0.01, description="Learning rate.")
    curvature_lr: Annotated[float, Field(gt=0)] = Field(1e-4, description="Learning rate of the curvatures.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="L2 regularisation of the weights.")
    schedule: Literal["constant", "cosine"] = Field("constant", description="Learning rate over time.")
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="Largest norm of a gradient.")
    eval_every: Annotated[int, Field(ge=1)] | None = Field(None, description="Epochs between validations; the task's own if not given.")

    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(0, description="First seed.")
    seeds: Annotated[int, Field(ge=1, le=10000)] = Field(1, description="Number of seeds; mean and deviation are reported.")
    split_seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(0, description="Seed of the split, the same for all seeds.")
    batch_seeds: bool = Field(True, description="Train all seeds as one batched model where that is possible.")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to train.")
    precision: Literal["float32", "float64"] = Field("float32", description="Type of all numbers.")
    deterministic: bool = Field(False, description="Insist on deterministic algorithms on a GPU.")

    @field_validator("data")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a data set or a file is needed")
        return value

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        from qgcn.models import build, default_space  # here, so that reading a config does not import PyTorch Geometric

        space = self.space or default_space(self.model)
        object.__setattr__(self, "space", str(parse_space(space)))
        if self.hidden is not None:
            object.__setattr__(self, "hidden", str(parse_space(self.hidden)))
        build(self.model, 1, self.space, layers=self.layers, hidden=self.hidden, skip=self.skip)  # do they go together?
        return self

    def model_options(self) -> dict[str, Any]:
        """Return the arguments of :func:`qgcn.models.build` beside its name, features and space."""
        names = ("layers", "hidden", "aggregation", "attention", "activation", "bias", "skip", "beta", "learnable", "projection")
        return {name: getattr(self, name) for name in (*names, "perturbation", "dropout", "feature_dropout")}

    def task_options(self) -> dict[str, Any]:
        """Return the arguments of the task beside its data."""
        own = {
            "reconstruction": ("objective", "balance", "use_features"),
            "classification": ("head",),
            "links": ("protocol", "split_seed"),
        }
        common = {"model": self.model, "space": self.space, "row_normalize": self.row_normalize}
        common |= {"one_hot": self.one_hot, "edge_dropout": self.edge_dropout}
        return common | self.model_options() | {name: getattr(self, name) for name in own[self.task]}

    @classmethod
    def checked(cls, values: dict[str, Any], origin: str = "") -> "Config":
        """Build a config; what is wrong is told in one line that names the key.

        Args:
            values: Keys and values.
            origin: Where they come from, for the message.
        """
        where = f" in {origin}" if origin else ""
        for key in values:
            if key not in cls.model_fields:
                near = difflib.get_close_matches(str(key), cls.model_fields, n=1, cutoff=0.0)
                raise ValueError(f"unknown key {key!r}{where}; did you mean {near[0]!r}?")
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            message = first["msg"].removeprefix("Value error, ")
            name = ".".join(str(part) for part in first["loc"])
            if not name:
                raise ValueError(message + where) from None
            given = "" if first["type"] == "missing" else f", got {first['input']!r}"
            raise ValueError(f"{name}{where}: {message[0].lower()}{message[1:]}{given}") from None


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
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file") from None
    except yaml.YAMLError as error:
        problem = " ".join(str(getattr(error, "problem", error)).split())
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{path} is not YAML: {problem}" + (f" (line {mark.line + 1})" if mark else "")) from None
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold keys and values, got {type(values).__name__}")
    return {str(key): value for key, value in values.items()}
