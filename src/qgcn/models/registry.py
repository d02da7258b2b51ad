"""Models by name: which encoder a name stands for, and where it lives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qgcn.hints import nearest
from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder

__all__ = ["MODELS", "Model", "build", "default_space", "find_model", "lives_in", "register_model"]


@dataclass(frozen=True)
class Model:
    """A named model.

    Attributes:
        name: Its name.
        encoder: The class of its network.
        default_space: Space of the embedding if none is asked for.
        lives_in: Whether it can be built in a space.
        where: Those spaces in words.
        about: One line on what it is.
        fixed: Arguments of the encoder that belong to the name.
    """

    name: str
    encoder: type[Encoder]
    default_space: str
    lives_in: Callable[[Space], bool] = lambda _: True
    where: str = "any space"
    about: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def build(self, in_features: int, space: Space | str, options: Mapping[str, Any]) -> Encoder:
        """Build the network, weights drawn from PyTorch's global generator."""
        return self.encoder(in_features, space, **self.fixed, **options)

    def capabilities(self, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what the network can do; nothing is built."""
        return self.encoder.capabilities(space, {**self.fixed, **options})

    def check(self, space: Space, options: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` if options and space do not go together."""
        self.encoder.check(space, {**self.fixed, **options})

    def option_names(self) -> list[str]:
        """Return the names of its options."""
        return list(self.encoder.options_type.model_fields)


MODELS: dict[str, tuple[Model, ...]] = {}
"""Models by name; of several of one name, the first that lives in a space is taken."""


def register_model(model: Model) -> Model:
    """Make a model known by its name, to :func:`build`, configs and the command line."""
    MODELS[model.name] = (*MODELS.get(model.name, ()), model)
    return model


def find_model(name: str, space: Space | str | None = None) -> Model:
    """Return the model of a name that lives in a space, its default one if none is given.

    Raises:
        ValueError: Unknown name, or the model does not live there.
    """
    if name not in MODELS:
        raise ValueError(f"no model {name!r}{nearest(name, MODELS)} (known: {', '.join(MODELS)})")
    first = MODELS[name][0]
    if space is None:
        return first
    given = parse_space(space) if isinstance(space, str) else space
    for model in MODELS[name]:
        if model.lives_in(given):
            return model
    where = " or ".join(dict.fromkeys(model.where for model in MODELS[name]))
    raise ValueError(f"{name} lives in {where}, got {given}")


def default_space(name: str) -> str:
    """Return the space in which a model lives if none is asked for."""
    return find_model(name).default_space


def lives_in(name: str, space: str) -> bool:
    """Tell whether a model can be built in a space."""
    find_model(name)
    return any(model.lives_in(parse_space(space)) for model in MODELS[name])


def build(name: str, in_features: int, space: Space | str | None = None, **options: Any) -> Encoder:
    """Build a model by its name.

    Args:
        name: The model's name, see the table in :mod:`qgcn.models`.
        in_features: Number of Euclidean features; for ``shallow``, of nodes.
        space: The space of the embeddings, or its name; the model's own if none is given.
        options: Fields of its encoder's ``Options``.

    Raises:
        ValueError: Unknown name or option, or the model does not live in that space.

    Example:
        >>> build("hgcn", 32, "H8", layers=1).space
        H8(beta=-1, learnable=True)
    """
    model = find_model(name, space)
    space = model.default_space if space is None else space
    for option in options:
        if option not in model.encoder.options_type.model_fields:
            known = ", ".join(model.option_names()) or "none"
            raise ValueError(f"{name} has no option {option!r} (known: {known})")
    return model.build(in_features, space, options)
