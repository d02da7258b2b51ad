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
    "estimator",
    "viz",
    "cli",
]
# at the side: what each of them may import
SIDE = {
    "files": [],
    "progress": [],
    "embedding": ["files", "manifolds"],
    "data": ["progress"],
    "optim": ["numerics", "geometry", "manifolds"],
    "metrics": ["numerics", "geometry", "kernels", "manifolds", "data", "progress"],
}
NOBODY_IMPORTS = {"cli"}
# the choice of signature trains models; what it rests on measures graphs, and needs nothing else
MEASURES = ["curvature", "four_points", "hyperbolicity", "measurements", "spectrum"]


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


def test_every_source_folder_and_module_has_its_tests():
    for child in PACKAGE.iterdir():
        name = child.name.removesuffix(".py")
        if name.startswith("__") or name == "py.typed":
            continue
        assert (ROOT / "tests" / name).is_dir() or (ROOT / "tests" / f"test_{name}.py").is_file(), name


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
