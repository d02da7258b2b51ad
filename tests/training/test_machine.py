"""Where a run takes place."""

import platform
import signal
import threading
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import qgcn
from qgcn.training import Config
from qgcn.training.machine import (
    Stopped,
    determinism,
    device_of,
    environment_of,
    fabric_of,
    freed_memory_kept,
    peak_memory,
    signals_raise,
    stop_signals,
)


def config(**settings):
    return Config.checked({"task": "links", "data": "cycle", "device": "cpu"} | settings)


def resident():
    """Return the pages of 4 KiB that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_freed_memory_is_kept_while_a_run_goes_on_and_given_back_after_it():
    pages, count = 2**12, 8  # 16 MiB each
    with freed_memory_kept():
        before = resident()
        for _ in range(2):
            held = [torch.ones(pages * 2**10) for _ in range(count)]
            del held
        inside = resident()
    assert inside - before > pages * count // 2
    assert inside - resident() > pages * count // 2


def test_freed_memory_kept_lets_errors_through():
    with pytest.raises(ValueError, match="told"), freed_memory_kept():
        raise ValueError("told")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="read from /proc")
def test_peak_memory_is_the_most_that_was_held():
    before = 4096 * resident()
    held = torch.ones(2**26)  # 256 MiB
    del held
    assert peak_memory(torch.device("cpu")) > before + 0.9 * 2**28


# --- device ------------------------------------------------------------------------------------------------------------


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="device cuda was asked for, but PyTorch sees no GPU; use cpu or auto"):
        device_of(config(device="cuda"))
    assert device_of(config(device="auto")) == torch.device("cpu")


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_the_device_that_is_told_is_the_one_that_is_trained_on(device):
    assert device_of(config(device=device)) == fabric_of(config(device=device)).device


def test_environment_names_versions_device_and_threads():
    found = environment_of(fabric_of(config()))
    assert found["packages"]["torch"] == version("torch")
    assert found["packages"]["qgcn"] == qgcn.__version__
    assert found["device"].startswith("cpu: ")
    assert found["threads"] == torch.get_num_threads()
    assert found["python"] == platform.python_version()


# --- determinism -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_determinism_is_insisted_on_if_asked_for_and_given_back(asked, before):
    torch.use_deterministic_algorithms(before)
    try:
        with determinism(config(deterministic=asked)):
            assert torch.are_deterministic_algorithms_enabled() == (asked or before)
        assert torch.are_deterministic_algorithms_enabled() == before
    finally:
        torch.use_deterministic_algorithms(False)


def test_what_cannot_be_deterministic_is_said_in_one_sentence():
    message = r"^a deterministic run is not possible here: x has no deterministic form$"
    with pytest.raises(ValueError, match=message), determinism(config(deterministic=True)):
        raise RuntimeError("x has no deterministic form. Set an option, or else")
    with pytest.raises(RuntimeError, match="shapes differ"), determinism(config(deterministic=True)):
        raise RuntimeError("shapes differ")
    assert not torch.are_deterministic_algorithms_enabled()


# --- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_becomes_a_question_and_a_second_one_stops_at_once(number):
    before = signal.getsignal(number)
    with stop_signals() as asked:
        assert not asked()
        signal.raise_signal(number)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_breaks_off_what_may_be_broken_off_and_nothing_else(number):
    done = []
    with stop_signals() as asked:
        with asked.heard_at_once():
            done.append("quiet")
        with pytest.raises(Stopped), asked.heard_at_once():
            signal.raise_signal(number)
        assert asked()
        done.append("outside")
        with pytest.raises(Stopped), asked.heard_at_once():  # it has come before
            done.append("never")
        with pytest.raises(KeyboardInterrupt) as second:
            signal.raise_signal(number)
        assert second.type is KeyboardInterrupt
    assert done == ["quiet", "outside"]


def test_a_signal_after_a_block_that_may_be_broken_off_is_a_question_again():
    with stop_signals() as asked:
        with asked.heard_at_once():
            pass
        signal.raise_signal(signal.SIGTERM)
        assert asked()


def test_in_another_thread_signals_are_left_alone():
    before, heard = signal.getsignal(signal.SIGTERM), []

    def work():
        with stop_signals() as asked:
            heard.append((asked(), signal.getsignal(signal.SIGTERM) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [(False, True)]


def test_signals_that_raise_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), signals_raise():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_are_left_alone_outside_the_main_thread():
    seen = []

    def work():
        with signals_raise():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]
