"""The public names of qgcn and their signatures, as recorded in ``tests/shape.txt``.

``make shape`` records them anew: after a change that ``CHANGELOG.md`` announces, and never otherwise.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import qgcn

RECORD = Path(__file__).parent / "shape.txt"


def public_shape() -> list[str]:
    """Return a line for every public name: its signature, or what kind of thing it is."""
    lines = []
    packages = ["qgcn", *(f"qgcn.{name}" for name in qgcn.__all__ if inspect.ismodule(getattr(qgcn, name)))]
    for package in packages:
        module = import_module(package)
        for name in sorted(module.__all__):
            lines += _lines(f"{package}.{name}", getattr(module, name))
    return lines


def _lines(path: str, value: Any) -> list[str]:
    if inspect.ismodule(value):
        return [f"{path}: module"]
    if not callable(value):
        return [f"{path}: {type(value).__name__}"]
    lines = [f"{path}{_signature(value)}"]
    if inspect.isclass(value):
        lines += [f"{path}.{name}{_member(value, name)}" for name in sorted(_own_names(value))]
    return lines


def _own_names(kind: type) -> set[str]:
    """Return the public names that a class has from qgcn, its own and inherited ones; not those of PyTorch and pydantic."""
    homes = [each for each in kind.__mro__ if each.__module__.split(".")[0] == "qgcn"]
    names = {name for each in homes for name in (*vars(each), *vars(each).get("__annotations__", {}))}
    return {name for name in names if not name.startswith("_") and name != "model_config"}


def _member(kind: type, name: str) -> str:
    value = inspect.getattr_static(kind, name, None)
    if isinstance(value, staticmethod | classmethod):
        return f"{_signature(value.__func__)} [{type(value).__name__}]"
    if inspect.isfunction(value):
        return _signature(value)
    return ": property" if isinstance(value, property) else ": attribute"


def _signature(value: Any) -> str:
    """Return names, kinds and defaults of the arguments; types are checked by mypy, and written differently by versions."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


if __name__ == "__main__":
    if "--record" in sys.argv[1:]:
        RECORD.write_text("\n".join(public_shape()) + "\n")
    else:
        print("\n".join(public_shape()))
