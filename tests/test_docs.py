"""Every Python block of the README and the manual runs."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COLUMNS = 88
"""Characters of a line of code that fit into a page beside its sidebars."""
BLOCKS = [
    pytest.param(match.group(1), id=f"{path.relative_to(ROOT)}:{path.read_text()[: match.start()].count(chr(10)) + 1}")
    for path in PAGES
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
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_line_of_code_is_cut_off_at_the_right_edge():
    wide = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for block in re.findall(r"^```\w*[^\n]*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if len(line) > COLUMNS
    ]
    assert wide == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The manual, built."""
    pytest.importorskip("material", reason="the manual is not built: pip install 'qgcn[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture
def manual(browser, site):
    """Open pages of the manual as files; nothing may be asked of the network."""
    asked, contexts = [], []

    def open_page(name):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []


def test_pages_of_the_manual_fit_desktops_and_phones(manual, site, keep):
    page = manual("index.html")
    keep(page, "manual")
    code = "[...document.querySelectorAll('pre code')].filter((each) => !each.closest('.language-text'))"  # tables scroll
    for path in sorted(site.rglob("*.html")):
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            if width == 1280:
                page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert page.evaluate(f"{code}.every((each) => each.scrollWidth <= each.clientWidth + 1)"), path


def test_the_manual_shows_the_scripts_to_copy(site):
    page = (site / "tutorials" / "examples.html").read_text(encoding="utf-8")
    for script in (ROOT / "examples").glob("*.py"):
        assert script.read_text(encoding="utf-8").splitlines()[0].removeprefix('"""') in page, script


def test_the_manual_can_be_searched_without_a_server(manual):
    page = manual("index.html")
    page.click("input[name=query]")
    page.keyboard.type("parallel transport")
    page.wait_for_selector(".md-search-result__item")
    assert "geometry.html" in page.locator(".md-search-result__link").first.get_attribute("href")


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
