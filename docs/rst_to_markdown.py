"""Show the docstrings' reStructuredText formulas and references in the Markdown manual."""

import re
from typing import Any

import griffe

_BLOCK = re.compile(r"^( *)\.\. math:: *(.*(?:\n(?:\1 +\S.*))*)", re.MULTILINE)


def convert(text: str) -> str:
    """Turn ``.. math::``, ``:math:`` and ``:func:`` into what Markdown understands."""

    def block(match: re.Match[str]) -> str:
        indent, formula = match.groups()
        return f"{indent}$$\n{indent}{' '.join(formula.split())}\n{indent}$$"

    text = _BLOCK.sub(block, text)
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r":(?:func|meth|class|mod):`~?([^`]*)`", lambda match: f"`{match[1].split('.')[-1]}`", text)
    return text.replace("``", "`")


class RstToMarkdown(griffe.Extension):
    """Convert every docstring as it is collected."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = convert(obj.docstring.value)
