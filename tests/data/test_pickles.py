import collections
import pickle
import subprocess

import numpy as np
import pytest

from qgcn.data.pickles import Holder, read_pickle


class Malicious:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def test_arrays_and_dictionaries_are_read():
    # as Python 2 wrote the published files
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02\x85"
    kind = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    read = read_pickle(head + kind + b"U\x10" + np.array([1.5, -2.0]).tobytes() + b"tb.", "a file")
    np.testing.assert_array_equal(read, [1.5, -2.0])
    assert read_pickle(b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R.", "a file") == collections.defaultdict(
        list
    )


def test_graphs_become_holders_without_behaviour():
    content = b"\x80\x02cnetworkx.classes.graph\nGraph\n)\x81}U\x01aK\x01sb."
    read = read_pickle(content, "a file")
    assert type(read) is Holder
    assert vars(read) == {"a": 1}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_malicious_pickle_is_refused_and_does_nothing(tmp_path, protocol):
    trace = tmp_path / "trace"
    for call, arguments, named in [
        (subprocess.call, (["touch", str(trace)],), r"\.call"),
        (exec, (f"open({str(trace)!r}, 'w')",), r"\.exec"),
        (getattr, ("", "join"), r"\.getattr"),
    ]:
        content = pickle.dumps([1, Malicious(call, *arguments)], protocol=protocol)
        with pytest.raises(ValueError, match=rf"^bad\.p is refused as a pickle: it asks for .*{named}$"):
            read_pickle(content, "bad.p")
    assert not trace.exists()


@pytest.mark.parametrize(
    "content", [b"", b"\x80", b"no pickle", b"\x80\x02cnumpy\nndarray.__reduce__\n.", b"\x80\x04\x8c\x05numpy\x8c\x04save\x93."]
)
def test_garbage_is_refused_in_one_line(content):
    with pytest.raises(ValueError, match=r"^bad\.p is refused as a pickle: [^\n]+$"):
        read_pickle(content, "bad.p")
