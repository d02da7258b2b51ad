"""The settings of a run: one schema for files, flags and Python.

A config is what every run has, what its task adds, and the options of its model's encoder: a union, told apart by the keys
``task`` and ``model``.
"""

import copy
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from qgcn.hints import nearest
from qgcn.manifolds import parse_space
from qgcn.models import MODELS, Capabilities, Model, Options, find_model
from qgcn.tasks.plain_yaml import brief, read_yaml
from qgcn.tasks.registry import TASKS, find_task

__all__ = ["Config", "check_shares", "join_config", "models_for", "path_field", "read_config", "settings_of"]

GONE = {"convolve": "coordinates are not smoothed any more"}
"""Keys of former versions."""


def path_field(description: str) -> Any:
    """Return a setting that names a file or folder: the command line writes it from the root."""
    return Field(None, description=description, json_schema_extra={"path": True})


def check_shares(config: Any) -> None:
    """Raise unless the keys ``val``, ``test`` and ``split`` go together: shares, or a file that says what is held out."""
    usual = {name: type(config).model_fields[name].default for name in ("val", "test")}
    if config.split is not None:
        for name, value in usual.items():
            if getattr(config, name) != value:
                raise ValueError(f"{name} has no effect beside split, whose file says what is held out: leave out one of them")
    if (config.val or 0) + (config.test or 0) >= 1:
        raise ValueError(f"val and test must be shares with val + test < 1, got val={config.val} and test={config.test}")


def _fanout(given: Any) -> Any:
    """Read a number, and a list of numbers as YAML has it, as text without blanks."""
    given = ",".join(map(str, given)) if isinstance(given, list) else given
    if not isinstance(given, int | str) or isinstance(given, bool):
        return given
    text = str(given).replace(" ", "")
    if not re.fullmatch(r"([1-9][0-9]{0,8}|all)(,([1-9][0-9]{0,8}|all))*", text):
        raise ValueError("expected numbers of neighbours, such as 10,5, or all")
    return text


class _Data(BaseModel):
    task: str = Field(description="Task.")
    data: str = Field(description="Name of a data set, or path of a graph: CSV, TSV, Parquet, npz, GraphML.")
    source: str | int | None = Field(None, description="Column of the source in a table of edges: its name, or number from 1.")
    target: str | int | None = Field(None, description="Column of the target in a table of edges.")
    weight: str | int | None = Field(None, description="Column of the weight in a table of edges.")
    features: str | None = path_field("File of node features: CSV, TSV or Parquet with ids first, npz or npy.")
    labels: str | None = path_field("File of node labels: CSV, TSV or Parquet of id and label, npz or npy.")
    degree_features: bool = Field(False, description="Append a one-hot of min(degree, 5), of training edges only.")
    one_hot: bool = Field(False, description="Append a one-hot of each node to its features.")
    row_normalize: bool = Field(False, description="Divide each node's features by the sum of their magnitudes.")


class _Model(BaseModel):
    model: str = Field("qgcn", description="Name of the model.")
    space: str = Field(
        "", description="Space of the embedding: E16, H16, S16, Q15,1, H8xS8, ...; auto:16 chooses one by trial runs."
    )
    edge_dropout: float = Field(0.0, ge=0, lt=1, description="Share of edges left out in a training step.")


class _Training(BaseModel):
    epochs: int = Field(200, ge=1, description="Maximum number of epochs.")
    patience: int | None = Field(None, ge=1, description="Stop after this many epochs without a better score.")
    lr: float = Field(0.01, gt=0, description="Learning rate.")
    curvature_lr: float = Field(0.0001, gt=0, description="Learning rate of the curvatures.")
    weight_decay: float = Field(0.0, ge=0, description="L2 regularisation of the weights.")
    adam_decay: float = Field(0.999, gt=0, lt=1, description="Decay of Adam's second moments.")
    schedule: Literal["constant", "cosine"] = Field("constant", description="Learning rate over time.")
    clip: float | None = Field(None, gt=0, description="Clip gradients to this norm.")
    eval_every: int | None = Field(None, ge=1, description="Epochs between validations; the task's own number if not given.")
    batch_size: int | None = Field(
        None,
        ge=1,
        description="Train on mini-batches of this many nodes or edges, with sampled neighbours; all at once if not given.",
    )
    fanout: Annotated[str | None, BeforeValidator(lambda given: _fanout(given))] = Field(
        None,
        description="Neighbours drawn at each hop of a mini-batch, such as 10,5: a number, or all; 10 if not given.",
    )
    refit: bool = Field(False, description="Train again on everything, for the number of epochs that validation chose.")


class _Machine(BaseModel):
    seed: int = Field(0, ge=0, lt=2**31, description="First seed.")
    seeds: int = Field(1, ge=1, le=10000, description="Number of seeds; mean and deviation are reported.")
    split_seed: int = Field(0, ge=0, lt=2**31, description="Seed of the split, the same for all seeds.")
    batch_seeds: bool = Field(True, description="Train seeds together where that is possible.")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Device to train on.")
    precision: Literal["float32", "float64"] = Field("float32", description="Floating-point type.")
    deterministic: bool = Field(False, description="Use deterministic algorithms only, on a GPU.")
    yardsticks: bool = Field(True, description="Score cheap methods beside the model, at the end.")
    checkpoint_seconds: float = Field(10.0, ge=0, description="Seconds between checkpoints: the most that a killed run loses.")


_PANELS: dict[str, type[BaseModel]] = {
    "Data": _Data,
    "Model": _Model,
    "Training": _Training,
    "Seeds and device": _Machine,
}


class Config(_Machine, _Training, _Model, _Data):
    """Everything a run depends on; the same keys on the command line, with ``-`` for ``_``.

    :meth:`checked` builds the config of a task and a model. A task subclasses it to add settings of its own and to say, in
    ``defaults``, what a setting of every run or of an encoder is if not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    defaults: ClassVar[dict[str, Any]] = {}
    """Defaults of the task where they are not those of the keys."""
    of_model: ClassVar[tuple[str, ...]] = ()
    """Keys of the task that data and split do not depend on."""
    option_names: ClassVar[tuple[str, ...] | None] = None
    """Names of the keys that are options of the encoder; ``None`` before a model is chosen."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, values: Any) -> Any:
        """Take the task's default of a key for ``None``."""
        if cls.option_names is None:
            raise ValueError("a config depends on its task and model: build it with Config.checked({...})")
        if isinstance(values, dict) and values.get("space") == "":
            raise ValueError("space must name a space such as Q15,1, got an empty name")
        return {name: value for name, value in values.items() if value is not None or cls.defaults.get(name) is None}

    @field_validator("data")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a data set or a file is needed")
        return value

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        space = self.space or find_model(self.model).default_space
        object.__setattr__(self, "space", str(parse_space(space)))
        if (hidden := getattr(self, "hidden", None)) is not None:
            object.__setattr__(self, "hidden", str(parse_space(hidden)))
        self.model_entry.check(parse_space(self.space), self.options)
        if self.capabilities.learns_nodes:
            self._check_idle()
        find_task(self.task).check(self)
        return self

    def _check_idle(self) -> None:
        """Raise if a setting is given that does nothing for a model without features and graph."""
        for name in ("degree_features", "one_hot", "row_normalize", "weight_decay", "edge_dropout"):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(
                    f"{name} has no effect on the model {self.model}, which learns coordinates alone; try model qgcn"
                )

    @property
    def model_entry(self) -> Model:
        """The named model."""
        return find_model(self.model, self.space)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the encoder by name."""
        return {name: getattr(self, name) for name in self.option_names or ()}

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model with these options in this space."""
        return self.model_entry.capabilities(parse_space(self.space), self.options)

    def coordinates_kept(self) -> int:
        """Return the number of coordinates of a node that a training step keeps, in all layers together."""
        return self.model_entry.encoder.width(parse_space(self.space), self.options)

    def of_problem(self) -> list[str]:
        """Return the names of the settings that data and split depend on: those of the data, and the task's own."""
        general = (*_Model.model_fields, *_Training.model_fields, *_Machine.model_fields)
        free = (*general, *(self.option_names or ()), *self.of_model)
        return ["split_seed", *(name for name in type(self).model_fields if name not in free)]

    def changed(self) -> dict[str, Any]:
        """Return the settings that are not at their defaults; task, data, model and space are left out."""
        told = ("task", "data", "model", "space")
        default = {name: field.default for name, field in type(self).model_fields.items()}
        return {name: value for name, value in self.model_dump().items() if name not in told and value != default[name]}

    def __reduce__(self) -> tuple[Any, ...]:
        """Be copied to other processes by values: the class is made where it is needed."""
        return Config.checked, (self.model_dump(),)

    @classmethod
    def checked(cls, values: dict[str, Any], origin: str = "", elsewhere: Collection[str] = ()) -> "Config":
        """Build a config; an error is one line that names the key.

        Args:
            values: Keys and values.
            origin: Where they come from, for the message.
            elsewhere: Keys that do not come from there.
        """

        def where(key: str) -> str:
            return f" in {origin}" if origin and key not in elsewhere else ""

        kind = _type_of(values)
        own = {}
        for key, value in values.items():
            if key in kind.model_fields:
                own[key] = value
            else:
                _refuse(key, value, values, kind, where(key))
        try:
            return kind(**own)
        except ValidationError as error:
            first = error.errors()[0]
            message = first["msg"].removeprefix("Value error, ")
            if not first["loc"]:
                raise ValueError(message) from None
            name = str(first["loc"][0])
            given = "" if first["type"] == "missing" else f", got {brief(first['input'])}"
            raise ValueError(f"{name}{where(name)}: {message[0].lower()}{message[1:]}{given}") from None


def _type_of(values: dict[str, Any]) -> type[Config]:
    """Return the class of the config that ``task`` and ``model`` ask for."""
    base = find_task(values.get("task")).config_type
    name = _text(values.get("model")) or base.defaults.get("model") or Config.model_fields["model"].default
    return join_config(base, find_model(name, _text(values.get("space"))).encoder.options_type)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


@cache
def join_config(base: type[Config], options: type[Options]) -> type[Config]:
    """Join the settings of a task and the options of an encoder, with the task's defaults."""
    fields = base.model_fields | options.model_fields
    told = {name: field for name, field in fields.items() if name not in base.model_fields or name in base.defaults}
    definitions: dict[str, Any] = {}
    for name, field in told.items():
        own = copy.copy(field)
        own.default = base.defaults.get(name, field.default)
        definitions[name] = (field.annotation, own)
    made: type[Config] = create_model(f"{base.__name__}With{options.__name__}", __base__=base, **definitions)
    made.option_names = tuple(options.model_fields)
    return made


def models_for(task: str) -> list[Model]:
    """Return the models that can solve a task: those that learn coordinates of the nodes alone can solve few."""
    every = [model for models in MODELS.values() for model in models]
    return [model for model in every if find_task(task).learns_nodes or not _learns_nodes(model)]


def _learns_nodes(model: Model) -> bool:
    return model.capabilities(parse_space(model.default_space), {}).learns_nodes


def settings_of(task: str) -> dict[str, tuple[FieldInfo, str]]:
    """Return every key of a task's configs, whatever the model, with the panel of the command line it belongs to."""
    base = find_task(task).config_type
    found: dict[str, tuple[FieldInfo, str]] = {}
    for name, field in base.model_fields.items():
        home = next((panel for panel, part in _PANELS.items() if name in part.model_fields), task.capitalize())
        found[name] = (field, home)
    for model in models_for(task):
        for name, field in model.encoder.options_type.model_fields.items():
            found.setdefault(name, (field, "Model"))
    return found


def _refuse(key: str, value: Any, values: dict[str, Any], kind: type[Config], where: str) -> None:
    """Raise for a key that a config does not have, unless it is another task's or model's at its default."""
    if key in GONE:
        raise ValueError(f"the key {key!r}{where} is gone, {GONE[key]}: leave it out")
    owners = {task: settings_of(task)[key][0] for task in TASKS if key in settings_of(task)}
    if not owners:
        hint = nearest(key, kind.model_fields, cutoff=0.5) or f" (known: {', '.join(kind.model_fields)})"
        raise ValueError(f"unknown key {key!r}{where}{hint}")
    task, model = values["task"], values.get("model") or kind.model_fields["model"].default
    own = [task] if task in owners else list(owners)
    usual = [TASKS[name].config_type.defaults.get(key, owners[name].default) for name in own]
    if not _learns_nodes(find_model(model)):
        usual.append(owners[own[0]].default)
    if value is None or value in usual:
        return
    if task in owners:
        raise ValueError(f"{key}{where}: the model {model} has no such option")
    named = " and ".join(filter(None, (", ".join(list(owners)[:-1]), list(owners)[-1])))
    raise ValueError(f"{key}{where} is a setting of {named}, not of {task}")


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a YAML file of keys and values.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not YAML, or not a list of keys; or it is larger, deeper or less plain than settings are.
    """
    values = read_yaml(Path(path))
    if not isinstance(values, dict):
        kind = "nothing" if values is None else type(values).__name__
        raise ValueError(f"{path} must hold keys and values such as 'epochs: 100', got {kind}")
    for key in values:
        if not isinstance(key, str):
            raise ValueError(f"{path}: a key must be a name such as 'epochs', got {brief(key)}")
    return values
