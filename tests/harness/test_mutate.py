"""The mutation harness: what it changes, what it leaves alone, and that it can tell a caught mutant from one that lives."""

import ast
import json
import subprocess
import sys

import pytest

import mutate

SOURCE = '''"""A file with 3 things."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nothing import anything

__all__ = ["f"]
NAME = "ä + b"


def f(a: int = 2, b: float = 0.5, *, over: bool = False) -> "int":
    """Say 1 + 1."""
    if not a:
        raise ValueError(f"a must be over {1 + 1}")
    if over and a < -b:
        return a ** 2 + (a - b) * 3
    return a if a is not None else 0
'''
EXPECTED = [
    ("2", "3"),
    ("0.5", "1.0"),
    ("False", "True"),
    ("not", ""),
    ("over and a < -b", "(not (over and a < -b))"),
    ("and", "or"),
    ("<", "<="),
    ("-", ""),
    ("**", "*"),
    ("2", "3"),
    ("+", "-"),
    ("-", "+"),
    ("*", "/"),
    ("3", "4"),
    ("is not", "is"),
    ("0", "1"),
]
CPP = """// a + b
#include "x.h"
float f(float *a, int n) { return n < 2 ? a[0] * 0.5f : -1 + n; }
"""


@pytest.fixture
def package(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return mutate.mutants_of(tmp_path / name, tmp_path)

    return write


def test_every_operator_number_and_condition_is_changed_and_nothing_else(package):
    found = package("f.py", SOURCE)
    assert [(SOURCE[each.start : each.end], each.text) for each in found] == EXPECTED
    for each in found:
        assert ast.dump(ast.parse(each.applied(SOURCE))) != ast.dump(ast.parse(SOURCE))


def test_cpp_is_changed_outside_comments_and_directives(package):
    found = package("f.cpp", CPP)
    assert [(CPP[each.start : each.end], each.text) for each in found] == [
        ("<", "<="),
        ("2", "3"),
        ("0", "1"),
        ("*", "/"),
        ("0.5f", "1.0f"),
        ("1", "2"),
        ("+", "-"),
    ]


def test_keys_tell_mutants_apart_and_do_not_depend_on_what_stands_elsewhere(package):
    before, after = package("f.py", SOURCE), package("f.py", SOURCE.replace("NAME =", "MORE = [1]\n\nNAME ="))
    keys = [each.key for each in before]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {each.key for each in after}
    assert len(after) == len(before) + 1


def test_the_sample_leaves_out_what_is_known_to_make_no_difference(monkeypatch):
    first, second = mutate.sample(2, "geometry/")
    monkeypatch.setattr(mutate, "known_survivors", lambda: {first.key: "a reason"})
    assert mutate.sample(1, "geometry/") == [second]


def test_every_survivor_has_a_reason_and_is_still_there():
    known = mutate.known_survivors()
    assert all(known.values())
    every = {
        each.key for path in mutate.PACKAGE.rglob("*") if path.suffix in (".py", ".cpp") for each in mutate.mutants_of(path)
    }
    assert known.keys() <= every


TRY = """
import json, sys
sys.path.insert(0, "harness")
import mutate
from dataclasses import replace
change = next(each for each in mutate.sample(None, "calibration.py") if "- confidence [- -> +]" in each.key)
found = mutate.run([change, replace(change, text="-")], jobs=2, near=False)
print(json.dumps({mutant.text: verdict for mutant, verdict, _ in found}))
"""


def test_a_change_is_caught_and_the_same_code_is_not():
    done = subprocess.run([sys.executable, "-c", TRY], cwd=mutate.ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"+": "caught", "-": "survived"}


CRASH = """
import json, signal, sys
sys.path.insert(0, "harness")
import mutate
def survives(mutant, folder, near):
    if mutant == signal.SIGXCPU:  # the system sends it to who computes for too long
        while True:
            pass
    signal.raise_signal(mutant)
mutate.survives, mutate.LIMIT = survives, 3
found = mutate.run([signal.SIGSEGV, signal.SIGFPE, signal.SIGTERM, signal.SIGXCPU], jobs=1)
print(json.dumps({mutant.name: verdict for mutant, verdict, _ in found}))
"""


def test_a_crash_and_a_loop_without_end_are_noticed_and_a_process_that_was_stopped_is_not_decided():
    done = subprocess.run([sys.executable, "-c", CRASH], cwd=mutate.ROOT, capture_output=True, text=True, check=True)
    expected = {"SIGSEGV": "crashed", "SIGFPE": "crashed", "SIGTERM": "undecided", "SIGXCPU": "hung"}
    assert json.loads(done.stdout) == expected
