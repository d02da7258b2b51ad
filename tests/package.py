"""Build wheel and sdist, and run the wheel in an environment without the development tools and extras.

1. Both are built from the tree; a second wheel, built from the sdist, must hold the same files: the sdist is complete.
2. The wheel is installed into an empty environment. Its dependencies are those of the environment that runs this script, where
   installing PyTorch once more would take minutes; but only packages that ``dependencies`` of ``pyproject.toml`` ask for,
   directly or not, can be imported. A development tool, an extra or a forgotten dependency is an ``ImportError``.
3. The command is run from there: version, help, training from an edge list, resuming, asking, the report.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUARD = """
import sys
from importlib.machinery import PathFinder

class Guard(PathFinder):
    refused = {names}
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in cls.refused else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Guard
"""
COMMANDS = [
    ["--version"],
    ["--help"],
    ["info"],
    ["datasets"],
    ["train", "links", "--data", "friends.csv", "--space", "Q3,1", "--epochs", "3", "--no-yardsticks", "--out", "run"],
    ["resume", "run"],
    ["neighbors", "run", "n0", "--top", "3"],
    ["export", "run", "--format", "csv"],
    ["report", "run", "--no-geometry"],
    ["reproduce", "table3", "--quick", "--seeds", "1", "--results", "lines"],
]


def main() -> None:
    """Build, install and run."""
    with tempfile.TemporaryDirectory(prefix="qgcn-package-") as place:
        folder = Path(place)
        wheel, sdist = build(folder)
        print(f"{wheel.name}: {len(files_of(wheel))} files; {sdist.name}: the same wheel comes out of it")
        installed = install(wheel, folder)
        use(installed, folder)


def build(folder: Path) -> tuple[Path, Path]:
    """Build wheel and sdist, and compare the wheel with the one that the sdist makes."""
    python = environment(folder / "builder", with_pip=True)
    call(python, "-m", "pip", "install", "--quiet", "hatchling>=1.24")
    call(python, "-m", "hatchling", "build", "--directory", folder / "dist", cwd=ROOT)
    (wheel,), (sdist,) = (list((folder / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (tree,) = (folder / "unpacked").iterdir()
    call(python, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder / "again", cwd=tree)
    (again,) = (folder / "again").iterdir()
    assert files_of(wheel) == files_of(again), "the sdist is incomplete"
    names = files_of(wheel)
    for needed in ("qgcn/py.typed", "qgcn/viz/report/template/", ".cpp", "licenses/LICENSE"):
        assert any(needed in name for name in names), f"the wheel has no {needed}"
    assert not [name for name in names if not name.startswith("qgcn")], "the wheel has files of others"
    return wheel, sdist


def files_of(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel with their checksums; the list of them is left out."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist() if not each.filename.endswith("RECORD")}


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into an empty environment that sees nothing beside its dependencies; return its Python."""
    python = environment(folder / "user", with_pip=False)
    (site,) = (folder / "user").glob("lib/python*/site-packages")
    call(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    shared = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{shared}\n")
    wanted = closure("qgcn", metadata.Distribution.at(next(site.glob("qgcn-*.dist-info"))))
    refused = {
        name for name, homes in metadata.packages_distributions().items() if not {plain(each) for each in homes} & wanted
    }
    (site / "sitecustomize.py").write_text(GUARD.format(names=sorted(refused - {"qgcn"})))
    print(f"{len(wanted)} packages are dependencies; {len(refused)} importable modules are none, and are refused")
    return python


def closure(name: str, found: metadata.Distribution) -> set[str]:
    """Return what a package needs, directly or not, without extras."""
    wanted, left = {plain(name)}, [found]
    while left:
        for line in left.pop().requires or ():
            needed = plain(re.match(r"[\w.-]+", line)[0])
            if "extra ==" in line or needed in wanted:
                continue
            try:
                left.append(metadata.distribution(needed))
            except metadata.PackageNotFoundError:
                continue  # for another platform
            wanted.add(needed)
    return wanted | {"setuptools", "pip"}


def plain(name: str) -> str:
    """Return the name of a package as indices compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def use(python: Path, folder: Path) -> None:
    """Run the command from an empty folder."""
    (folder / "work").mkdir()
    (folder / "work" / "friends.csv").write_text("".join(f"n{k % 30},n{(7 * k + 1 + k // 30) % 30}\n" for k in range(120)))
    home = call(python, "-c", "import qgcn; print(qgcn.__file__)")
    assert home.startswith(str(folder / "user")), home
    script = python.parent / "qgcn"
    for arguments in COMMANDS:
        call(script, *arguments, cwd=folder / "work")
        print(f"qgcn {' '.join(arguments)}: fine")
    probe = "try: import pytest\nexcept ModuleNotFoundError as error: print(error)"
    assert call(python, "-c", probe) == "No module named 'pytest'\n", "the environment is not empty"


def environment(path: Path, with_pip: bool) -> Path:
    """Make an environment; return its Python."""
    venv.create(path, with_pip=with_pip, symlinks=True)
    return path / "bin" / "python"


def call(*command: object, cwd: Path | None = None) -> str:
    """Run a command without this project's variables, and return what it wrote; show that if it fails."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([str(each) for each in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
