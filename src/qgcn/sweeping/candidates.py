"""Candidates: a model in a space with fixed settings, and the ranges of those that are searched."""

import math
import random
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from pydantic.fields import FieldInfo

from qgcn.manifolds import parse_space
from qgcn.models import find_model
from qgcn.tasks import Config, find_task
from qgcn.tasks.config import settings_of
from qgcn.tasks.ranges import WIDTH, Choice, Range

__all__ = ["Candidate", "draw", "parse_candidate", "widened"]


def parse_candidate(name: str, fixed: dict[str, Any]) -> "Candidate":
    """Return the candidate that a name such as ``qgcn:Q15,1`` stands for; a model alone lives in its default space.

    Args:
        name: The name.
        fixed: Settings of all candidates that are not searched, ``task`` and ``data`` among them.

    Raises:
        ValueError: There is no such model or space, or a setting does not fit.
    """
    model, _, space = name.partition(":")
    config = Config.checked(fixed | {"model": model, "space": space or find_model(model).default_space})
    return Candidate(config.model, config.space, fixed)


@dataclass(frozen=True)
class Candidate:
    """A model in a space.

    Attributes:
        model: Name of the model.
        space: Name of the space.
        fixed: Settings that are not searched.
        only: Settings that are searched, of those that could be (default: all of them).
    """

    model: str
    space: str
    fixed: dict[str, Any]
    only: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Model and space, as on the command line."""
        return f"{self.model}:{self.space}"

    @cached_property
    def ranges(self) -> dict[str, BaseDistribution]:
        """Ranges that are searched, as Optuna takes them."""
        return {name: _distribution(each) for name, each in self.searched.items()}

    @cached_property
    def searched(self) -> dict[str, Range]:
        """Ranges of the task, and of the encoder in their place, that apply: the model has the setting, and it is not fixed."""
        task = str(self.fixed["task"])
        found, settings = {}, type(self.config({})).model_fields
        own = {name: Choice(name, tuple(extra["search"])) for name, field in settings.items() if (extra := _extra(field))}
        common = {each.name: each for each in find_task(task).search}
        for each in (common | own).values():
            if self.only is not None and each.name not in self.only:
                continue
            if each.name != WIDTH and each.name not in settings_of(task):
                raise ValueError(f"the search of {task} names {each.name!r}, which is no setting of it")
            key = "hidden" if each.name == WIDTH else each.name
            if key in settings and self.fixed.get(key) is None and self._takes(each):
                found[each.name] = each
        return found

    def config(self, drawn: dict[str, Any]) -> Config:
        """Return the settings with drawn values, which are rounded: a step of 0.1 makes no tenths."""
        rounded = {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in drawn.items()}
        values = {**self.fixed, "model": self.model, "space": self.space, **rounded}
        width = values.pop(WIDTH, 1)
        if width > 1:
            values["hidden"] = widened(self.space, width)
        return Config.checked(values)

    def _takes(self, each: Range) -> bool:
        """Tell whether the setting has an effect: it then accepts all ends of the range, and a curvature is there to be set."""
        if each.name == "beta" and not self._is_curved():
            return False
        if isinstance(each, Choice) and each.needs and not getattr(self.config({}).capabilities, each.needs):
            return False
        try:
            for value in each.ends:
                self.config({each.name: value})
        except ValueError:
            return False
        return True

    def _is_curved(self) -> bool:
        """Tell whether a space of the network, or the one that features are projected to, has a curvature that is set."""
        config = self.config({})
        names = {config.space, getattr(config, "hidden", None) or config.space}
        kept = all(parse_space(name, beta=-1.0).curvatures == parse_space(name, beta=-4.0).curvatures for name in names)
        return not kept or bool(getattr(config, "projection", False))


def draw(ranges: dict[str, BaseDistribution], name: str, key: str) -> Any:
    """Draw a value of a range; it depends on key, name and range alone, so that models which share a range share the value."""
    chance, kind = random.Random(f"{key} {name}"), ranges[name]  # noqa: S311
    if isinstance(kind, CategoricalDistribution):
        return chance.choice(kind.choices)
    if not isinstance(kind, FloatDistribution):
        raise TypeError(f"{name} has a range of an unknown kind: {kind}")
    if kind.step is not None:
        return kind.low + kind.step * chance.randint(0, round((kind.high - kind.low) / kind.step))
    if kind.log:
        return math.exp(chance.uniform(math.log(kind.low), math.log(kind.high)))
    return chance.uniform(kind.low, kind.high)


def widened(space: str, factor: int) -> str:
    """Multiply the coordinates of a space; of a ``Q``, one time dimension stays one.

    Example:
        >>> widened("Q15,1", 2), widened("H8xS8", 4)
        ('Q31,1', 'H32xS32')
    """
    return "x".join(_wider(part, factor) for part in space.split("x"))


def _wider(part: str, factor: int) -> str:
    if part[0] != "Q":
        return re.sub("[0-9]+", lambda match: str(int(match[0]) * factor), part)
    space_dim, time_dim = map(int, part[1:].split(","))
    time = time_dim if time_dim == 1 else time_dim * factor
    return f"Q{(space_dim + time_dim) * factor - time},{time}"


def _extra(field: FieldInfo) -> dict[str, Any]:
    """Return what an option of an encoder says about its search, if it does."""
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) and "search" in extra else {}


def _distribution(each: Range) -> BaseDistribution:
    if isinstance(each, Choice):
        return CategoricalDistribution(each.values)
    return FloatDistribution(each.low, each.high, log=each.log, step=each.step)
