"""Text of others on a terminal."""

import pytest

from qgcn.cli.escapes import escaped, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünï, 東京\t\n", "plain, ünï, 東京\t\n"),
        ("\x1b[2Ja", "\\x1b[2Ja"),
        ("a\x07\x08\r\x7f\x9b", "a\\x07\\x08\\r\\x7f\\x9b"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("caf\udce9", "caf\\udce9"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text, shown):
    assert escaped(text) == shown


def test_long_lines_lose_their_middle():
    assert shortened("a" * 2000) == "a" * 2000
    line = shortened("a" * 5000 + "b" * 5000)
    assert (len(line), line[0], line[-1]) == (2007, "a", "b")
