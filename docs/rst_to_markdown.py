"""Show the docstrings' reStructuredText formulas, tables and references in the Markdown manual."""

import re
from typing import Any

import griffe

_BLOCK = re.compile(r"^( *)\.\. math:: *(.*(?:\n(?:\1 +\S.*))*)", re.MULTILINE)
_TABLE = re.compile(
    r"^( *)(=+(?: +=+)+)\n(.*?)\n\1\2(?=\n *\n|\s*\Z)", re.MULTILINE | re.DOTALL
)


def _formula(match: re.Match[str]) -> str:
    indent, formula = match.groups()
    return f"{indent}$$\n{indent}{' '.join(formula.split())}\n{indent}$$"


def _table(match: re.Match[str]) -> str:
    indent, border, body = match.groups()
    starts = [column.start() + len(indent) for column in re.finditer("=+", border)]
    bounds = list(zip(starts, [*starts[1:], None], strict=True))
    lines = body.split("\n")
    heads = 1 if len(lines) > 1 and lines[1].strip() == border else 0
    rows = [
        [line[start:end].strip() for start, end in bounds]
        for line in lines
        if line.strip() != border
    ]
    rows = rows if heads else [[""] * len(bounds), *rows]
    rows.insert(1, ["---"] * len(bounds))
    return "\n".join(f"{indent}| {' | '.join(row)} |" for row in rows)


def convert(text: str) -> str:
    """Turn ``.. math::``, simple tables, ``:math:``, ``:func:`` and the heading of examples into what Markdown understands."""
    text = _TABLE.sub(_table, _BLOCK.sub(_formula, text))
    text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(
        r":(?:func|meth|class|mod|data|attr):`~?([^`]*)`",
        lambda match: f"`{match[1].split('.')[-1]}`",
        text,
    )
    return text.replace("``", "`")


class RstToMarkdown(griffe.Extension):
    """Convert every docstring as it is collected."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = convert(obj.docstring.value)
