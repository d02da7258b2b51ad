"""One HTML file that explains a run, or several side by side: no network, no other file."""

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qgcn import __version__
from qgcn.files import check_writable, create_folder, write_text
from qgcn.manifolds import Product, Space, Sphere, Stereographic
from qgcn.manifolds.quadric import Hyperboloid, Quadric
from qgcn.numerics import limits
from qgcn.tasks.insights import Column
from qgcn.viz import style
from qgcn.viz.subject import Embedded, Subject

__all__ = ["render", "write_report"]

_SCRIPTS = ("geometry.js", "canvas.js", "charts.js", "explorer.js", "page.js")
_WORST = 12
"""Nodes named as the worst."""


def write_report(subjects: Sequence[Subject], path: str | Path, analysis: Mapping[str, Any] | None = None) -> Path:
    """Write the report of one run or more, atomically.

    Args:
        subjects: What to show, in this order.
        path: The HTML file.
        analysis: The geometry of the graph, see :func:`qgcn.viz.measured.measure_graph`, as plain data: ``graph``, its name;
            ``words``, a list of sentences; ``facts``, names and values; ``charts``, each with ``title``, ``about``, ``kind``
            (``bars`` or ``line``), ``x_label``, ``y_label``, ``x`` and ``y``. Any of them may be missing. Without it there is
            no such section.

    Raises:
        OSError: The file cannot be written.
    """
    path = Path(path)
    check_writable(path.parent)
    text = render(subjects, analysis)
    create_folder(path.parent)
    write_text(path, text)
    return path


def render(subjects: Sequence[Subject], analysis: Mapping[str, Any] | None = None) -> str:
    """Return the report as HTML.

    Everything that a user named (nodes, classes, files) travels as JSON in which ``<``, ``>`` and ``&`` are escaped, and is
    shown as text. The page's policy admits its own script, by its hash, and no network.
    """
    if not subjects:
        raise ValueError("a report needs at least one run, got none")
    template = files("qgcn.viz") / "template"
    script = '"use strict";\n' + "\n".join((template / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    title = subjects[0].name if len(subjects) == 1 else f"{len(subjects)} runs compared"
    parts = {
        "title": html.escape(f"{title} · qgcn"),
        "style": (template / "report.css").read_text(encoding="utf-8"),
        "data": _json(_payload(subjects, analysis)),
        "script": script,
        "hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }
    page = (template / "report.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)  # in one pass: what is filled in is not read again


def _json(value: Any) -> str:
    """Write JSON that HTML cannot mistake for a tag, in ASCII."""
    text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _payload(subjects: Sequence[Subject], analysis: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "version": __version__,
        "palette": {"categories": style.CATEGORIES, "other": style.OTHER, "sequence": style.SEQUENCE},
        "subjects": [_subject(subject) for subject in subjects],
        "analysis": None if analysis is None else dict(analysis),
    }


def _subject(subject: Subject) -> dict[str, Any]:
    return {
        "name": subject.name,
        "settings": {name: value for name, value in subject.settings.items() if value is not None},
        "words": subject.words,
        "notices": subject.notices,
        "metric": subject.metric,
        "scores": [{"name": each.name, "mean": each.mean, "std": each.deviation} for each in subject.scores],
        "seeds": subject.seeds,
        "curves": [vars(curve) for curve in subject.curves],
        "shown": subject.shown,
        "environment": subject.environment,
        "embedded": None if subject.embedded is None else _embedded(subject.embedded),
    }


def _embedded(embedded: Embedded) -> dict[str, Any]:
    worst: list[int] = []
    if embedded.precision is not None:
        order = torch.where(embedded.precision.isnan(), torch.inf, embedded.precision).argsort(stable=True)
        worst = [int(k) for k in order[:_WORST] if embedded.precision[k] < 1]
    return {
        "names": embedded.names,
        "points": _array(embedded.points.cpu().numpy(), np.float32),
        "space": _space(embedded.space),
        "edges": None if embedded.edges is None else _array(embedded.edges.T, np.int32),
        "columns": [_column(column) for column in embedded.columns],
        "layouts": {name: _array(layout, np.float32) for name, layout in embedded.layouts.items()},
        "exact": {"shape": embedded.exact.shape, "axes": embedded.exact.axes, "mean": embedded.exact.mean.tolist()},
        "precision": None if embedded.precision is None else _array(embedded.precision.cpu().numpy(), np.float32),
        "worst": worst,
        "quality": [
            {"title": each.title, "about": each.about, "groups": [vars(group) for group in each.groups]}
            for each in embedded.quality
        ],
    }


def _column(column: Column) -> dict[str, Any]:
    kind = np.int32 if column.labels else np.float32
    return {"name": column.name, "labels": list(column.labels), "values": _array(column.values, kind)}


def _array(values: np.ndarray[Any, Any], kind: Any) -> dict[str, Any]:
    """Return an array as base64 of its bytes, lowest first, in the order of rows."""
    plain = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"type": np.dtype(kind).name, "shape": list(plain.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def _space(space: Space) -> dict[str, Any]:
    """Return what distances and geodesics need: the factors, and when float32 points count as null or antipodal."""
    factors = list(space.manifolds) if isinstance(space, Product) else [space]
    rounding = limits(torch.float32)
    return {
        "name": str(space),
        "factors": [_factor(factor) for factor in factors],
        "null": rounding.null,
        "antipode": rounding.antipode,
    }


def _factor(space: Space) -> dict[str, Any]:
    known: dict[str, Any] = {"name": str(space), "size": space.ambient_dim}
    if isinstance(space, Quadric):
        kind = "S" if isinstance(space, Sphere) else "H" if isinstance(space, Hyperboloid) else "Q"
        return known | {"kind": kind, "time": space.time_dim, "beta": space.beta.item()}
    if isinstance(space, Stereographic):
        return known | {"kind": "K", "kappa": space.k.item()}
    return known | {"kind": "E"}
