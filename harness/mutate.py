"""Change the package in one place at a time, and see whether the tests notice.

A *mutant* is the package with one operator, number or condition replaced: ``<`` by ``<=``, ``+`` by ``-``, ``0.5`` by ``1.0``,
``if a`` by ``if not a``. Each is run against the tests of its module, and, if it survives these, against the files that use
the module most. A mutant that survives is a hole in the tests, or makes no difference; those of the second kind are listed in
``survivors.txt`` with the reason.

    python harness/mutate.py --count 200            # a sample of the whole package
    python harness/mutate.py --only geometry        # of one folder
    python harness/mutate.py --key KEY              # one mutant again

The sample is drawn by a hash of what is changed, not of where it stands: a line added elsewhere changes nothing.
"""

import argparse
import ast
import contextlib
import hashlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection, get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "qgcn"
TESTS = ROOT / "tests"
SURVIVORS = Path(__file__).with_name("survivors.txt")
LIMIT, PATIENCE = 240, 1200.0
"""Seconds of computing after which a mutant counts as caught: it hangs; and seconds by the clock after which it is left
undecided: it may wait for nothing, or the machine may be busy."""
SURVIVED, CAUGHT, UNDECIDED = 0, 1, 2
NEAREST = 5
"""Test files that use a module most, run if its own tests let a mutant live."""

CRASHES = (signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)
VERDICTS = {SURVIVED: "survived", CAUGHT: "caught", -signal.SIGXCPU: "hung", **{-number: "crashed" for number in CRASHES}}
"""What the exit code of a mutant's process says; a signal sent from outside, as for want of memory, says nothing."""

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
}
CPP = [("<", "<="), (">", ">="), ("<=", "<"), (">=", ">"), ("==", "!="), ("+", "-"), ("-", "+"), ("*", "/"), ("/", "*")]


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Args:
        path: The file, relative to the package.
        start: Offset of what is replaced.
        end: Offset behind it.
        text: What it is replaced by.
        line: Number of the line.
        key: Name that does not depend on what stands elsewhere.
    """

    path: str
    start: int
    end: int
    text: str
    line: int
    key: str

    @property
    def rank(self) -> str:
        """Place in the sample."""
        return hashlib.sha256(self.key.encode()).hexdigest()

    def applied(self, source: str) -> str:
        """Return the changed file."""
        return source[: self.start] + self.text + source[self.end :]


def mutants_of(path: Path, package: Path = PACKAGE) -> list[Mutant]:
    """Return every mutant of a file, in the order of the file."""
    source = path.read_text(encoding="utf-8")
    changes = _changes_of_python(source) if path.suffix == ".py" else _changes_of_cpp(source)
    found, seen = [], Counter[str]()
    where = path.relative_to(package).as_posix()
    for start, end, text, scope in sorted(changes):
        first = source.rfind("\n", 0, start) + 1
        last = source.find("\n", end)
        words = source[first : last if last >= 0 else None].strip()
        key = f"{where}:{scope}: {words} [{source[start:end].strip()} -> {text.strip()}]"
        seen[key] += 1
        if seen[key] > 1:
            key += f" #{seen[key]}"
        found.append(Mutant(where, start, end, text, source.count("\n", 0, start) + 1, key))
    return found


def _changes_of_python(source: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield offsets, replacement and the function that it stands in."""
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    wide = source.isascii()

    def at(line: int, column: int) -> int:
        offset = lines[line - 1] + column
        return offset if wide else len(source.encode()[:offset].decode())

    def visit(node: ast.AST, scope: str) -> Iterator[tuple[int, int, str, str]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}" if scope else node.name
        if not _is_for_types(node):
            yield from _changes_of_node(node, source, at, scope)
        for child in _children(node):
            yield from visit(child, scope)

    yield from visit(ast.parse(source), "")


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may be changed below a node: no annotations, words of errors, imports for types, or descriptions."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if _is_for_types(node):
        return
    if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.keyword) and child.arg == "description"):
                continue
            if isinstance(child, ast.AST):
                yield child


def _is_for_types(node: ast.AST) -> bool:
    """Tell whether a node is a condition that holds for a type checker alone."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _changes_of_node(node: ast.AST, source: str, at, scope: str) -> Iterator[tuple[int, int, str, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.comparators[0], COMPARISONS.get(type(node.ops[0])), source, at, scope)
    elif isinstance(node, ast.BinOp):
        yield from _between(node.left, node.right, ARITHMETIC.get(type(node.op)), source, at, scope)
    elif isinstance(node, ast.BoolOp):
        swap = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        yield from _between(node.values[0], node.values[1], swap, source, at, scope)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        start = at(node.lineno, node.col_offset)
        yield start, start + (len("not") if isinstance(node.op, ast.Not) else 1), "", scope
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        start, end = at(node.test.lineno, node.test.col_offset), at(node.test.end_lineno, node.test.end_col_offset)
        yield start, end, f"(not ({source[start:end]}))", scope
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        start, end = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
        if isinstance(node.value, bool):
            yield start, end, str(not node.value), scope
        elif isinstance(node.value, int):
            yield start, end, str(node.value + 1), scope
        else:
            yield start, end, repr(2 * node.value if node.value else 1.0), scope


def _between(left: ast.expr, right: ast.expr, swap: tuple[str, str] | None, source: str, at, scope: str):
    """Yield the replacement of an operator, which stands somewhere between its operands."""
    if swap is None or (isinstance(left, ast.Constant) and isinstance(left.value, str)):
        return
    start, end = at(left.end_lineno, left.end_col_offset), at(right.lineno, right.col_offset)
    old, new = swap
    pattern = rf"(?<!\w){re.escape(old)}(?!\w)" if old[0].isalpha() else re.escape(old)
    match = re.search(pattern.replace(r"\ ", r"\s+"), source[start:end])
    if match:
        yield start + match.start(), start + match.end(), new, scope


def _changes_of_cpp(source: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield replacements of operators and numbers in C++, outside comments, strings, directives, and lines that prefetch.

    What is fetched ahead of its use changes no result.
    """
    left_out = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|^\s*#[^\n]*|^[^\n]*__builtin_prefetch[^\n]*"
    plain = re.sub(left_out, lambda m: " " * len(m[0]), source, flags=re.S | re.M)
    for old, new in CPP:  # an operator has a space on both sides; brackets of templates and pointers do not
        for match in re.finditer(rf"(?<= ){re.escape(old)}(?= )", plain):
            yield match.start(), match.end(), new, ""
    for match in re.finditer(r"(?<![\w.])(\d+\.\d*f?|\d+)(?![\w.])", plain):
        number = match[1].removesuffix("f")
        yield *match.span(), (f"{2 * float(number) or 1.0}f" if "." in number else str(int(number) + 1)), ""


def tests_of(path: str) -> tuple[list[Path], list[Path]]:
    """Return the test files of a module, and those that use its names most."""
    where = Path(path)
    if where.suffix != ".py":
        return sorted((TESTS / where.parent).glob("test_*.py")), []
    if where.stem in ("__init__", "__main__"):
        own = [TESTS / "test_structure.py", *sorted((TESTS / where.parent).glob("test_*.py"))[:NEAREST]]
        return own, []
    own = [TESTS / where.parent / f"test_{where.stem}.py"]
    names = _public_names(PACKAGE / where)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b") if names else None
    counts = {}
    for test in TESTS.rglob("test_*.py"):
        if test not in own and "browser" not in test.stem and pattern is not None:
            counts[test] = len(pattern.findall(test.read_text(encoding="utf-8"))) + (test.parent == own[0].parent)
    nearest = sorted((test for test in counts if counts[test]), key=lambda test: (-counts[test], str(test)))
    return own, [TESTS / "test_shape.py", *nearest[:NEAREST]]  # first: what is public is on record, defaults included


def _public_names(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets):
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def survives(mutant: Mutant, folder: Path, near: bool = True) -> bool:
    """Run the tests of a mutant in this process, which must be one of its own and must not know the package yet."""
    import pytest

    shutil.copytree(PACKAGE.parent, folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "src" / "qgcn" / mutant.path
    path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
    sys.path.insert(0, str(folder / "src"))
    os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # other packages' plugins may warn of how they are loaded here
    tempfile.tempdir = str(folder)
    if not mutant.path.endswith(".py"):
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # a changed kernel is compiled, and kept by nobody
    os.chdir(ROOT)
    own, nearest = tests_of(mutant.path)
    for files in (own, nearest if near else []):
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *map(str, files)]) if files else 0
        if code in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):  # interrupted: the file cannot be imported
            return False
        if code != 0:
            raise RuntimeError(f"pytest ended with {code!r}")
    return True


def _child(mutant: Mutant, folder: Path, near: bool) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
    with (folder / "log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        code = UNDECIDED
        try:
            code = SURVIVED if survives(mutant, folder, near) else CAUGHT
        finally:
            os._exit(code)


def run(mutants: list[Mutant], jobs: int, near: bool = True) -> Iterator[tuple[Mutant, str, float]]:
    """Yield each mutant with what became of it, caught, crashed, hung, survived or undecided, and the seconds it took.

    Args:
        mutants: What to run.
        jobs: Processes at once.
        near: Run the files that use a module most, if its own tests let a mutant live.
    """
    for name in ("torch", "torch_geometric", "geoopt", "scipy.sparse", "sklearn", "mpmath", "pydantic", "pytest"):
        __import__(name)  # once, for all children: what tests import of others is most of their time
    import torch

    torch.set_num_threads(1)
    context, waiting, running = get_context("fork"), list(mutants), {}
    with tempfile.TemporaryDirectory(prefix="qgcn-mutants-") as base:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop(0)
                folder = Path(tempfile.mkdtemp(dir=base))
                process = context.Process(target=_child, args=(mutant, folder, near))
                process.start()
                running[process.sentinel] = (process, mutant, folder, time.monotonic())
            ready = connection.wait(list(running), timeout=1)
            for sentinel, (process, mutant, folder, began) in list(running.items()):
                seconds = time.monotonic() - began
                if sentinel not in ready and seconds < PATIENCE:
                    continue
                verdict = "undecided" if sentinel not in ready else VERDICTS.get(_code(process), "undecided")
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.join()
                del running[sentinel]
                shutil.rmtree(folder, ignore_errors=True)
                yield mutant, verdict, seconds


def _code(process) -> int | None:
    process.join()
    return process.exitcode


def known_survivors(path: Path = SURVIVORS) -> dict[str, str]:
    """Return the reasons of mutants that make no difference, by key."""
    known, key = {}, None
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if line.startswith("    ") and key is not None:
            known[key] = line.strip()
        elif line and not line.startswith("#"):
            key = line
            known[key] = ""
    return known


def sample(count: int | None, only: str = "") -> list[Mutant]:
    """Return the mutants of a part of the package, or a sample of them, drawn by hash."""
    files = [path for kind in ("*.py", "*.cpp") for path in PACKAGE.rglob(kind) if only in path.relative_to(PACKAGE).as_posix()]
    found = [mutant for path in sorted(files) if _runs_here(path) and not _is_looks(path) for mutant in mutants_of(path)]
    known = known_survivors()
    drawn = sorted((mutant for mutant in found if mutant.key not in known), key=lambda mutant: mutant.rank)
    return drawn[:count]


def _runs_here(path: Path) -> bool:
    """Tell whether the tests of a file run on this machine: kernels for a GPU need one."""
    import torch

    return not path.stem.startswith("gpu") or torch.cuda.is_available()


def _is_looks(path: Path) -> bool:
    """Tell whether a file is the code of pictures: widths, angles of view, opacities, which eyes judge."""
    return path.is_relative_to(PACKAGE / "viz" / "figures") or path == PACKAGE / "viz" / "style.py"


def main() -> int:
    """Run a sample, list what survives, and return whether enough was caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="number of mutants (default: 200)")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first ones of the sample")
    parser.add_argument("--only", default="", help="part of the path of the files to change, such as geometry/")
    parser.add_argument("--key", help="run this mutant alone")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (default: 2)")
    parser.add_argument("--floor", type=float, default=0.95, help="share that must be caught (default: 0.95)")
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    asked = parser.parse_args()
    chosen = (
        [each for each in sample(None) if each.key == asked.key] if asked.key else sample(asked.count + asked.skip, asked.only)
    )
    chosen = chosen if asked.key else chosen[asked.skip :]
    if asked.list:
        print(*(mutant.key for mutant in chosen), sep="\n")
        return 0
    counts = Counter[str]()
    for done, (mutant, verdict, seconds) in enumerate(run(chosen, asked.jobs), start=1):
        counts[verdict] += 1
        shown = f"{verdict:8} {seconds:5.0f} s  {mutant.path}:{mutant.line}"
        print(f"{done:4}/{len(chosen)} {shown}" + (f"\n     {mutant.key}" if verdict == "survived" else ""), flush=True)
    caught = counts["caught"] + counts["crashed"] + counts["hung"]
    decided = caught + counts["survived"]
    share = caught / decided if decided else 0.0
    print(f"{caught} of {decided} decided mutants caught ({100 * share:.1f} %), {counts['undecided']} undecided")
    return 0 if share >= asked.floor else 1


if __name__ == "__main__":
    sys.exit(main())
