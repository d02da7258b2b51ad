import numpy as np  # noqa: F401 (brings its BLAS)
from threadpoolctl import threadpool_info, threadpool_limits

from qgcn.yardsticks.threads import one_thread


def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_blas_has_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2, user_api="blas"):
        assert threads() == {2}
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}
