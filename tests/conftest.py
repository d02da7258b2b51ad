import os
import signal
import socket

import pytest
import torch
from hypothesis import settings

pytest_plugins = ["browser", "commands"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background of a shell: what tests start would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)

torch.set_num_threads(1)  # tests run in two processes on two cores

# the same examples in every run: a failure seen once is seen again
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=30, print_blob=True)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def free_port():
    """Return the number of a port that nobody listens at, as text."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
