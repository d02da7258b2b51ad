from inspect import signature

from qgcn.progress import Progress, silent


def test_silent_is_a_progress_callback_that_returns_nothing():
    report: Progress = silent
    assert report("reading", 1, 2, note="a.csv") is None


def test_silent_takes_what_a_progress_callback_takes():
    assert list(signature(silent).parameters.values()) == list(signature(Progress.__call__).parameters.values())[1:]
