from qgcn.hints import nearest

KNOWN = ("cora", "citeseer", "pubmed")


def test_nearest_names_what_is_close_and_nothing_else():
    assert nearest("coraa", KNOWN) == "; did you mean 'cora'?"
    assert nearest("cora", iter(KNOWN)) == "; did you mean 'cora'?"
    assert nearest("qqq", KNOWN) == ""
    assert nearest(None, KNOWN) == ""


def test_a_lower_cutoff_names_what_is_further_off():
    assert nearest("pub", KNOWN, cutoff=0.7) == ""
    assert nearest("pub", KNOWN, cutoff=0.5) == "; did you mean 'pubmed'?"


def test_a_name_of_many_characters_is_compared_with_none():
    assert nearest("a" * 200, ["a" * 200 + "b"])
    assert nearest("a" * 201, ["a" * 201 + "b"]) == ""
