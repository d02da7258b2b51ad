"""Turn the manual's formulas into MathML while it is built, so that it reads offline and without JavaScript."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a page."""

    def formula(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        return convert(html.unescape(match[3]).strip(), display=display)

    return _FORMULA.sub(formula, content)
