"""What holds the project together: imports point one way, importing is light, the changelog is kept."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "qgcn"

# data flows one way: each may import what stands before it
ORDER = [
    "numerics",
    "geometry",
    "kernels",
    "manifolds",
    "nn",
    "models",
    "tasks",
    "training",
    "analysis",
    "estimators",
    "sweeping",
    "viz",
    "reproduction",
    "cli",
]
# at the side: what each of them may import
SIDE = {
    "answer": [],
    "blending": [],
    "caches": [],
    "calibration": [],
    "content": [],
    "export": ["answer", "files"],
    "files": ["locks", "seals"],
    "hints": [],
    "locks": [],
    "progress": [],
    "seals": ["content"],
    "embedding": ["data", "files", "manifolds", "seals"],
    "data": ["caches", "content", "hints", "progress", "seals"],
    "optim": ["numerics", "geometry", "manifolds"],
    "yardsticks": [],
    "metrics": ["numerics", "geometry", "kernels", "manifolds", "data", "progress"],
}
NOBODY_IMPORTS = {"cli"}
# the choice of signature trains models; what it rests on measures graphs, and needs nothing else
MEASURES = ["curvature", "four_points", "hyperbolicity", "measurements", "spectrum"]

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.stem not in ("__init__", "__main__"))
SOURCES = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cpp", ".h", ".js"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BUILT_IN_TASKS = ("reconstruction", "classification", "links")
DEFAULT_TASK = ("estimators/embedding.py", "analysis/signature.py", "cli/analyze.py")  # of a public argument
DEMO = "cli/demo.py"  # runs one
PAPER = "reproduction/"  # whose tables are about these tasks
SPACES = {"Product", "Quadric", "Sphere", "Hyperboloid", "Euclidean", "Stereographic", "PseudoHyperboloid"}


def imports_of(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "qgcn":
            names = [node.module.split(".")[1]] if "." in node.module else [alias.name for alias in node.names]
            yield from names
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("qgcn."))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part in ("__init__", "__main__"):
        return
    known = {child.name.removesuffix(".py") for child in PACKAGE.iterdir()}
    for target in set(imports_of(path)) & known - {part, "__init__"}:
        assert target not in NOBODY_IMPORTS, f"{path} imports {target}"
        if part in SIDE:
            assert target in SIDE[part], f"{path} imports {target}"
        elif target in ORDER:
            assert ORDER.index(target) < ORDER.index(part), f"{path} imports {target}"


@pytest.mark.parametrize("name", MEASURES)
def test_measurements_need_nothing_but_data(name):
    assert set(imports_of(PACKAGE / "analysis" / f"{name}.py")) <= {"analysis", "data", "progress"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_has_the_tests_of_its_name(path):
    where = path.relative_to(PACKAGE)
    mirror = ROOT / "tests" / where.parent / f"test_{where.name}"
    assert mirror.is_file(), mirror
    assert any(isinstance(node, FUNCTIONS) and node.name.startswith("test_") for node in ast.parse(mirror.read_text()).body)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_is_over_400_lines(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_function_is_over_60_lines(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, FUNCTIONS):
            first = node.body[0]
            docstring = 0 if ast.get_docstring(node) is None else first.end_lineno - first.lineno + 1
            assert node.end_lineno - node.lineno + 1 - docstring <= 60, node.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_but_a_task_names_it(path):
    where = str(path.relative_to(PACKAGE))
    text = path.read_text()
    if path.suffix == ".py":
        tree = ast.parse(text)
        defaults = {node for each in ast.walk(tree) if isinstance(each, FUNCTIONS) for node in task_defaults(each)}
        allowed = defaults if where in DEFAULT_TASK else set()
        strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in allowed]
    else:
        strings = re.findall(r"""["'`]([^"'`\n]*)["'`]""", text)
    named = {name for name in BUILT_IN_TASKS if name in strings}
    assert named <= {path.stem} or where == DEMO or where.startswith(PAPER), named


def task_defaults(function):
    """Return the default values of an argument called ``task``."""
    places = function.args
    positional = [*places.posonlyargs, *places.args]
    pairs = [*zip(positional[len(positional) - len(places.defaults) :], places.defaults, strict=True)]
    pairs += zip(places.kwonlyargs, places.kw_defaults, strict=True)
    return [default for argument, default in pairs if argument.arg == "task" and default is not None]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nobody_but_manifolds_asks_which_class_a_space_is(path):
    if path.parent.name == "manifolds":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            names |= {each.attr for each in ast.walk(node.args[1]) if isinstance(each, ast.Attribute)}
            assert not names & SPACES, f"line {node.lineno}"


def test_importing_the_package_is_light():
    heavy = "matplotlib umap numba optuna networkx torch_geometric sklearn pandas typer"
    code = f"import sys, qgcn; print([name for name in '{heavy}'.split() if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_numerics_alone_holds_epsilons_and_clamps():
    pattern = re.compile(r"\b\d+e-\d+\b|clamp")
    for path in PACKAGE.rglob("*.py"):
        if "numerics" in path.relative_to(PACKAGE).parts:
            continue
        lines = [line for line in path.read_text().splitlines() if pattern.search(line)]
        defaults = [line for line in lines if re.search(r"(tol|lr|eps): float = |\"lr\": ", line)]
        assert lines == defaults, path


def test_changelog_names_the_version():
    import qgcn

    assert f"## {qgcn.__version__}" in (ROOT / "CHANGELOG.md").read_text()
