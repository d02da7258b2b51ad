"""Read YAML of plain values: no aliases, no depth, no more text than settings need."""

import reprlib
from pathlib import Path
from typing import Any

import yaml

from qgcn.content import check_file, megabytes, read_bytes

__all__ = ["brief", "read_yaml"]

_LARGEST = 1 << 17
"""Bytes of a file of settings, at most; those of a run take about two thousand."""
_DEEPEST = 16
"""Lists and mappings inside one another, at most."""
_LONGEST_INTEGER = 64
"""Bits of an integer, at most."""


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Memory: at most :data:`_LARGEST` bytes are parsed, and nothing in them can be repeated by name.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not YAML, has aliases, is too large or too deep, or a value of it cannot be understood.
    """
    try:
        if check_file(path) > _LARGEST:
            raise ValueError(f"{path} is too large for settings: expected {megabytes(_LARGEST)} at most")
        text = read_bytes(path)[: _LARGEST + 1].decode("utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"no config file {path}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not YAML: it is no text") from None
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{path} is not YAML: {problem}" + (f" (line {mark.line + 1})" if mark else "")) from None


class _Loader(yaml.SafeLoader):
    """The safe loader, without aliases and without depth; what a value raises names its line."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise _problem(f"an alias such as *{event.anchor} is not read: write the value again", event)
        if self.depth >= _DEEPEST:
            raise _problem(f"more than {_DEEPEST} lists or mappings inside one another", event)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except Exception as error:  # the constructors of PyYAML trust that a tag and its text fit: !!float ""
            raise _problem(f"a value does not fit its tag {node.tag!r} ({type(error).__name__})", node) from None
        if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
            raise _problem(f"an integer of more than {_LONGEST_INTEGER} bits", node)
        return value


def _problem(what: str, where: Any) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=where.start_mark)


_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxstring = _SHORT.maxother = 100


def brief(value: Any) -> str:
    """Write a value that a file or a user gave, cut short if it is long, for an error."""
    return _SHORT.repr(value)
