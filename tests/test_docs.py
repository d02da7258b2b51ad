"""Every Python block of the README and the manual runs."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(match.group(1), id=f"{path.relative_to(ROOT)}:{path.read_text()[: match.start()].count(chr(10)) + 1}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for match in re.finditer(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
]


@pytest.fixture
def registries():
    """Forget the tasks, models and spaces that an example registers."""
    from qgcn.manifolds.names import _FORMS
    from qgcn.models import MODELS
    from qgcn.tasks import TASKS

    before = [(registry, dict(registry)) for registry in (_FORMS, MODELS, TASKS)]
    yield
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("code", BLOCKS)
def test_examples_run(code):
    exec(compile(code, "<documentation>", "exec"), {})  # noqa: S102


def test_there_are_examples():
    assert len(BLOCKS) >= 5


def test_readme_shows_both_commands():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_docstrings_are_shown_as_markdown():
    pytest.importorskip("griffe")
    spec = importlib.util.spec_from_file_location("rst_to_markdown", ROOT / "docs" / "rst_to_markdown.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "Map.\n\n    .. math:: a = b,\n        \\quad c\n\n    See :func:`qgcn.geometry.dist`, :math:`x^2`, ``code``."
    assert module.convert(text) == "Map.\n\n    $$\n    a = b, \\quad c\n    $$\n\n    See `dist`, $x^2$, `code`."
    table = "Spaces.\n\n    ====  =====\n    name  what\n    ====  =====\n    E     flat\n    ====  =====\n\n    More."
    assert module.convert(table) == "Spaces.\n\n    | name | what |\n    | --- | --- |\n    | E | flat |\n\n    More."
    assert module.convert("=  =\na  b\n=  =") == "|  |  |\n| --- | --- |\n| a | b |"
    assert module.convert("Build.\n\n    Example:\n        >>> 1") == "Build.\n\n    Examples:\n        >>> 1"
