"""Turn the manual's formulas into MathML while it is built, so that it reads offline and without JavaScript."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a page."""

    def formula(match: re.Match[str]) -> str:
        text = html.unescape(match[3]).strip()
        if match[2] == "[":
            return f'<div class="formula">{convert(text, display="block")}</div>'  # scrolls if it is wider than the page
        return convert(text, display="inline")

    return _FORMULA.sub(formula, content)
