"""Feed every reader with mutated files: each is read, or refused in one line; nothing else happens, and no file is written.

    python -m fuzz --count 100000               # all readers; input k of a seed is the same on every machine
    python -m fuzz --count 100000 --start 40000 # go on
    python -m fuzz --only edges --start 17 --count 1 --keep found

An input fails if its reader raises anything but a ``ValueError`` or ``OSError`` that our code raises itself, in one line; if it
warns, takes longer than --seconds of processor time, takes more than --megabytes, writes a file, or kills the process.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import torch  # noqa: E402

import qgcn  # noqa: E402
from fuzz import mutations  # noqa: E402
from fuzz.readers import READERS, Reader, train_run  # noqa: E402

OURS = str(Path(qgcn.__file__).parent)
CHUNK = 500
"""Inputs of one process."""


class Slow(BaseException):
    """Time is over."""


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; return how many inputs failed, at most 100."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--only", help="one reader, or run for all of a run folder; others are left out")
    parser.add_argument("--without-run", action="store_true", help="leave out the files of a run folder")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--megabytes", type=int, default=1500)
    parser.add_argument("--keep", type=Path, help="folder for inputs that failed")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="qgcn-fuzz-") as place:
        readers = dict(READERS) if given.without_run else READERS | train_run(Path(place) / "run")
        if given.only:
            readers = {name: reader for name, reader in readers.items() if given.only in (name, name.split("/")[0])}
        names = [name for name, reader in readers.items() for _ in range(reader.share)]
        counts, failures, begun = Counter[str](), [], time.monotonic()
        first = given.start
        while first < given.start + given.count:
            last = min(first + CHUNK, given.start + given.count)
            first = _chunk(given, readers, names, first, last, Path(place), counts, failures)
            if sys.stderr.isatty():
                print(f"\r{first - given.start:,} inputs, {len(failures)} failed", end="", file=sys.stderr)
    _tell(given, counts, failures, time.monotonic() - begun)
    return min(len(failures), 100)


def _tell(given: argparse.Namespace, counts: Counter[str], failures: list[dict[str, str]], seconds: float) -> None:
    print(f"{'reader':32} {'inputs':>8} {'read':>8} {'refused':>8} {'failed':>8}")
    for name in sorted({key.split("|")[0] for key in counts}):
        read, refused, failed = (counts[f"{name}|{kind}"] for kind in ("read", "refused", "failed"))
        print(f"{name:32} {read + refused + failed:8,} {read:8,} {refused:8,} {failed:8,}")
    print(f"{given.count:,} inputs, seed {given.seed}, {seconds:.0f} s: {len(failures)} failed")
    shown = Counter(f"{each['reader']}: {each['what']}" for each in failures)
    for what, number in shown.most_common(60):
        example = next(each for each in failures if f"{each['reader']}: {each['what']}" == what)
        print(f"  {number} x {what} (input {example['input']})")


def _chunk(
    given: argparse.Namespace,
    readers: dict[str, Reader],
    names: list[str],
    first: int,
    last: int,
    place: Path,
    counts: Counter[str],
    failures: list[dict[str, str]],
) -> int:
    """Run inputs in a process of their own; return the next one."""
    record = place / "record.jsonl"
    record.write_text("")
    child = os.fork()
    if child == 0:
        try:
            _run(given, readers, names, range(first, last), place, record)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    done = [json.loads(line) for line in record.read_text().splitlines()]
    for each in done:
        if each["kind"] != "begun":
            counts[f"{each['reader']}|{each['kind']}"] += 1
        if each["kind"] == "failed":
            failures.append(each)
    if status == 0:
        return last
    begun = done[-1] if done else {"reader": "?", "input": first}
    counts[f"{begun['reader']}|failed"] += 1
    failures.append({"reader": begun["reader"], "input": begun["input"], "what": f"the process ended with {status}"})
    return int(begun["input"]) + 1


def _run(
    given: argparse.Namespace, readers: dict[str, Reader], names: list[str], inputs: range, place: Path, record: Path
) -> None:
    """Read inputs one after the other."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message=".*torch.jit")
    signal.signal(signal.SIGVTALRM, _stop)
    folder = place / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    before = _peak()
    with record.open("a", buffering=1) as log:
        for k in inputs:
            dice = random.Random(f"{given.seed}:{k}")  # noqa: S311
            name = dice.choice(names)
            reader = readers[name]
            source = dice.choice(reader.corpus)
            content = _mutated(reader, source.read_bytes(), dice)
            path = _place(reader, source, folder, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            log.write(json.dumps({"kind": "begun", "reader": name, "input": k}) + "\n")
            listed = _listing(folder)
            kind, what = _call(reader, folder / "run" if reader.place else path, given.seconds)
            if _listing(folder) != listed:
                kind, what = "failed", f"it wrote {sorted(_listing(folder) ^ listed)}"
            if _peak() - before > given.megabytes:
                kind, what = "failed", f"it took {_peak() - before} MiB"
                before = _peak()
            if kind == "failed" and given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{k}-{source.name}").write_bytes(content)
            log.write(json.dumps({"kind": kind, "reader": name, "input": k, "what": what}) + "\n")
            shutil.rmtree(folder / "run", ignore_errors=True) if reader.place else path.unlink()


def _mutated(reader: Reader, content: bytes, dice: random.Random) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader.mutate(content, dice)
        except Exception:  # a structure that a first change broke cannot be changed again
            return mutations.raw(content, dice)


def _place(reader: Reader, source: Path, folder: Path, place: Path) -> Path:
    """Return where an input is written: beside nothing, or among the other files of a run."""
    if not reader.place:
        return folder / source.name
    shutil.copytree(place / "run", folder / "run")
    return folder / "run" / reader.place


def _call(reader: Reader, path: Path, seconds: float) -> tuple[str, str]:
    """Read one input; say whether it was read, refused, or failed and how."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        reader.read(path)
    except Slow:
        return "failed", f"it took more than {seconds:g} s"
    except (ValueError, OSError) as error:
        return _judged(error)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {_where(error)}: {str(error)[:150]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "read", ""


def _judged(error: Exception) -> tuple[str, str]:
    """Tell whether an error is one of ours, and one line."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames[-1].filename.startswith(OURS):
        return "failed", f"a {type(error).__name__} that is not ours: {_where(error)}: {str(error)[:150]}"
    if "\n" in str(error) or not str(error):
        return "failed", f"not one line: {_where(error)}: {str(error)[:80]!r}"
    return "refused", ""


def _where(error: Exception) -> str:
    ours = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.startswith(OURS)]
    return f"{ours[-1].filename.removeprefix(OURS)}:{ours[-1].lineno}" if ours else "?"


def _listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _stop(*_: object) -> None:
    raise Slow


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
