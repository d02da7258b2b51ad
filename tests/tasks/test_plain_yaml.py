"""YAML of plain values."""

import pytest

from qgcn.tasks.plain_yaml import brief, read_yaml


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "a.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(path)

    return read


def test_plain_values_are_read(read):
    assert read("a: 1\nb: [x, 2.5, null, true]\nc: {d: 'e'}\n") == {"a": 1, "b": ["x", 2.5, None, True], "c": {"d": "e"}}
    assert read("") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [x]\nb: *a\n", r"an alias such as \*a is not read: write the value again \(line 2\)$"),
        ("a: &a [*a]\n", r"an alias such as \*a is not read"),
        ("a: " + "[" * 30 + "]" * 30, r"more than 16 lists or mappings inside one another \(line 1\)$"),
        ("a: " + "[" * 5000, r"more than 16 lists or mappings inside one another \(line 1\)$"),
        ('a: !!float ""', r"a value does not fit its tag 'tag:yaml\.org,2002:float' \(IndexError\) \(line 1\)$"),
        ("a: 1\nb: !!int x", r"does not fit its tag 'tag:yaml\.org,2002:int' \(ValueError\) \(line 2\)$"),
        ("a: !!timestamp x", r"does not fit its tag .*timestamp"),
        ("a: 2001-99-99", r"does not fit its tag .*timestamp"),
        (f"a: 0x{'f' * 5000}", r"an integer of more than 64 bits \(line 1\)$"),
        (f"a: {'9' * 5000}", r"does not fit its tag .*int"),
        ("a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("a: b: c", r"mapping values are not allowed here \(line 1\)$"),
        (b"a: \xff", "it is no text"),
        ("a: \x1b", "special characters are not allowed"),
        ("a: 1\n---\nb: 2\n", r"but found another document \(line 2\)$"),
        ("a" * 200_000, r"is too large for settings: expected 131,072 bytes at most$"),
    ],
)
def test_what_settings_do_not_need_is_refused_in_one_line(read, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    assert "a.yaml" in str(caught.value)


def test_values_are_cut_short_in_errors():
    assert brief("x") == "'x'"
    assert len(brief("x" * 1000)) == 100
    nested = ["x"]
    for _ in range(30):
        nested = [nested] * 9
    assert len(brief(nested)) < 5000
