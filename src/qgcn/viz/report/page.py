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

from qgcn.files import check_writable, create_folder, write_text
from qgcn.viz.report.payload import payload_of
from qgcn.viz.report.subject import Subject

__all__ = ["render", "write_report"]

_SCRIPTS = (
    "geometry.js",
    "canvas.js",
    "charts.js",
    "graph.js",
    "scenes.js",
    "explained.js",
    "explorer.js",
    "listings.js",
    "page.js",
)


def write_report(subjects: Sequence[Subject], path: str | Path, analysis: Mapping[str, Any] | None = None) -> Path:
    """Write the report of one run or more, atomically.

    Args:
        subjects: The runs to show, in this order.
        path: The HTML file.
        analysis: The geometry of the graph, see :func:`graph_section`, as plain data: ``graph``, its name;
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
    template = files("qgcn.viz.report") / "template"
    script = '"use strict";\n' + "\n".join((template / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    title = subjects[0].name if len(subjects) == 1 else f"{len(subjects)} runs compared"
    parts = {
        "title": html.escape(f"{title} · qgcn"),
        "style": (template / "report.css").read_text(encoding="utf-8"),
        "data": _json(payload_of(subjects, analysis)),
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
