"""Inputs made from a corpus: small changes that keep the structure of a format, and some that do not."""

import gzip
import hashlib
import io
import json
import random
import re
import zipfile

import numpy as np

from qgcn.seals import VERSION

NUMBERS = [
    "1e308",
    "1e39",
    "1e-320",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "-0",
    "007",
    "9" * 19,
    "9" * 400,
    "1_0",
    "0x10",
    "1.5",
]
WORDS = [
    *NUMBERS,
    "",
    '"',
    '""',
    '"a',
    "\x1b[2J",
    "\x00",
    "\ufeff",
    "é",
    "\u202e",
    "\ud7ff",
    "a b",
    "#",
    "%",
    "id",
    "source",
    "weight",
]
WORDS += ["train", "val", "test", "true", "null", "None", "x" * 300, "x" * 5000, " " * 200, "\r", "\n\n", "\t\t", ",,,", ";"]
YAML_WORDS = [
    '!!float ""',
    "!!int ''",
    "!!python/object/apply:os.system [x]",
    "&a [*a]",
    "*a",
    "[" * 40,
    "{a: " * 30,
    "!!timestamp 1",
]
YAML_WORDS += [
    "!!binary x",
    "!!set {a}",
    "? [a]\n: b",
    "<<: {a: b}",
    "1:60:60",
    "0b11",
    "|",
    "- a",
    "!!null x",
    "2001-99-99",
    ".inf",
    "!!bool x",
]
XML_WORDS = [
    "<node/>",
    "<edge/>",
    "<graph>",
    "</graph>",
    '<edge source="a" target="zz"/>',
    "&lt;",
    "&a;",
    "<a>" * 50,
    '<data key="w">1e39</data>',
]
XML_WORDS += [
    '<!DOCTYPE a [<!ENTITY b "c">]>',
    '<port name="p"/>',
    '<key id="w" attr.type="double"/>',
    "<![CDATA[",
    "-->",
    'edgedefault="x"',
]
VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**70,
    1.5,
    1e308,
    1e999,
    -1e999,
    float("nan"),
    "",
    "inf",
    "x",
    "\x1b[2J",
    [],
    {},
    [[]],
    {"a": 1},
]
SEAL = re.compile(rb"qgcn-file \d{1,9} sha256=([0-9a-f]{64})")


def sealed(content: bytes) -> bytes:
    """Fill in the checksum again, if the file has one: a crafted file is consistent in itself."""
    found = list(SEAL.finditer(content))
    if not found:
        return content
    start, stop = (found[-1] if content.startswith(b"PK") else found[0]).span(1)
    blank = content[:start] + b"0" * 64 + content[stop:]
    return blank[:start] + hashlib.sha256(blank).hexdigest().encode() + blank[stop:]


def raw(content: bytes, dice: random.Random) -> bytes:
    """Change bytes wherever they are."""
    made = bytearray(content)
    for _ in range(dice.choice([1, 1, 1, 2, 5, 20])):
        place, kind = dice.randrange(len(made) + 1), dice.randrange(6)
        if kind == 0 and made:
            made[place % len(made)] ^= 1 << dice.randrange(8)
        elif kind == 1 and made:
            made[place % len(made)] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, ord('"'), ord("\n")])
        elif kind == 2:
            made[place:place] = bytes(dice.randrange(256) for _ in range(dice.choice([1, 4, 16])))
        elif kind == 3:
            del made[place : place + dice.choice([1, 4, 64])]
        elif kind == 4:
            del made[place:]
        else:
            other = dice.randrange(len(made) + 1)
            made[place:place] = made[other : other + dice.choice([1, 8, 64])]
    return bytes(made)


def text(content: bytes, dice: random.Random, words: list[str] = WORDS) -> bytes:
    """Change fields and lines."""
    if dice.random() < 0.15:
        return raw(content, dice)
    lines = content.decode().split("\n")
    for _ in range(dice.choice([1, 1, 2, 4])):
        place, kind = dice.randrange(len(lines)), dice.randrange(9)
        if kind < 4:
            parts = re.split(r"([,;\t: ]+)", lines[place])
            parts[dice.randrange(len(parts))] = dice.choice(words)
            lines[place] = "".join(parts)
        elif kind == 4:
            lines.insert(place, lines[dice.randrange(len(lines))])
        elif kind == 5 and len(lines) > 1:
            del lines[place]
        elif kind == 6:
            lines[place] += dice.choice(["", ",", "\t", ";", " ", ",1", "\r"]) + dice.choice(words)
        elif kind == 7:
            mark, other = dice.sample([",", ";", "\t", " ", "  "], 2)
            lines = [line.replace(mark, other) for line in lines]
        else:
            lines[place] = lines[place] * dice.choice([2, 50])
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def zipped(content: bytes, dice: random.Random) -> bytes:
    """Change the text inside a ``.gz``, or the stream."""
    if dice.random() < 0.5:
        return raw(content, dice)
    return gzip.compress(text(gzip.decompress(content), dice), mtime=0)


def yaml(content: bytes, dice: random.Random) -> bytes:
    """Change YAML."""
    return sealed(text(content, dice, WORDS + 3 * YAML_WORDS))


def xml(content: bytes, dice: random.Random) -> bytes:
    """Change GraphML."""
    if dice.random() < 0.5:
        return text(content, dice, WORDS + 3 * XML_WORDS)
    found = list(re.finditer(r'"[^"]*"|>[^<]+<|<[^>]*>', content.decode()))
    made = content.decode()
    for one in sorted(dice.sample(found, dice.choice([1, 2, 3])), key=lambda each: -each.start()):
        change = dice.choice(XML_WORDS) if one[0][0] == "<" else one[0][0] + dice.choice(WORDS).replace("<", "") + one[0][-1]
        made = made[: one.start()] + change + made[one.end() :]
    return made.encode("utf-8", "surrogatepass")


def tree(value: object, dice: random.Random) -> object:
    """Replace, remove or add one part of nested lists and mappings."""
    if isinstance(value, dict | list) and value and dice.random() < 0.85:
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        made = value.copy()
        if dice.random() < 0.1:
            del made[key]
        elif dice.random() < 0.05 and isinstance(made, dict):
            made[dice.choice(["", "x", "\x1b"])] = dice.choice(VALUES)
        else:
            made[key] = tree(made[key], dice)
        return made
    return dice.choice(VALUES)


def tree_text(content: bytes, dice: random.Random) -> bytes:
    """Change JSON."""
    kind = dice.random()
    if kind < 0.1:
        return sealed(raw(content, dice))
    if kind < 0.15:
        return b"[" * 100_000
    return sealed(json.dumps(tree(json.loads(content), dice), indent=2).encode())


def log(content: bytes, dice: random.Random) -> bytes:
    """Change a line of a log of validations, and make the checksums of all lines fit again."""
    lines = content.splitlines()
    place = dice.randrange(len(lines))
    if dice.random() < 0.2:
        lines[place] = raw(lines[place], dice)
        return b"\n".join(lines) + b"\n"
    made, check = [], f"qgcn-file {VERSION}"
    for number, line in enumerate(lines):
        value = json.loads(line)
        value.pop("check")
        if number == place:
            value = tree(value, dice)
        body = json.dumps(value).removesuffix("}")
        check = hashlib.sha256(f"{check}\n{body}".encode()).hexdigest()[:16]
        made.append(f'{body}, "check": "{check}"}}\n')
    return "".join(made).encode()


def tensors(content: bytes, dice: random.Random) -> bytes:
    """Change safetensors: the header with its length, or bytes."""
    size = int.from_bytes(content[:8], "little")
    if dice.random() < 0.4:
        return sealed(raw(content, dice))
    header = json.loads(content[8 : 8 + size])
    changed = json.dumps(tree(header, dice)).encode()
    return sealed(len(changed).to_bytes(8, "little") + changed + content[8 + size :])


def array(value: np.ndarray, dice: random.Random) -> np.ndarray:
    """Change an array: its numbers, type, shape."""
    kind = dice.randrange(11)
    if kind < 3 and value.size and value.dtype.kind in "iuf":
        made = value.copy()
        odd = (
            [0, -1, 2**31, 2**62, 10**6, 7]
            if value.dtype.kind in "iu"
            else [0.0, -1.0, np.nan, np.inf, 1e39, 1e308, 1e-320, 0.5]
        )
        with np.errstate(all="ignore"):
            made.flat[dice.randrange(made.size)] = np.array(dice.choice(odd)).astype(made.dtype)
        return made
    if kind == 3:
        return np.array(dice.choice([0, 1, -1, 2**40, 1e39, "a", b"a", True, 1 + 2j]))
    if kind == 4:
        return value.reshape(-1)[: dice.randrange(value.size + 1)]
    if kind == 5:
        return value[np.newaxis] if dice.random() < 0.5 else value.T
    if kind == 6:
        types = [">i8", "u8", "i1", "f2", "f8", "g", "c16", "U3", "S3", "U0", "S0", "M8[s]", "m8[D]", "?"]
        with np.errstate(all="ignore"):
            return np.zeros(value.shape, dtype=dice.choice(types)) if dice.random() < 0.3 else _cast(value, dice.choice(types))
    if kind == 7:
        return np.array(dice.choices(WORDS, k=dice.choice([0, 1, max(1, value.shape[0] if value.ndim else 1)])))
    if kind == 8:
        return np.zeros(dice.choice([(0,), (0, 0), (2, 0), (0, 2), (1,) * 20, (3, 3), (2, 5), (5, 2)]), dtype=value.dtype)
    if kind == 9:
        return np.concatenate((value, value)) if value.ndim else value
    return np.zeros(3, dtype=[("a", int), ("b", float)])


def _cast(value: np.ndarray, kind: str) -> np.ndarray:
    try:
        return value.astype(kind)
    except (ValueError, TypeError):
        return np.zeros(value.shape, dtype=kind)


def arrays(content: bytes, dice: random.Random) -> bytes:
    """Change an ``.npz`` or ``.npy``: its arrays, their headers, the archive."""
    if dice.random() < 0.25:
        return sealed(raw(content, dice))
    if not content.startswith(b"PK"):
        return _header(_npy(array(np.load(io.BytesIO(content)), dice)), dice)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members, comment = {name: archive.read(name) for name in archive.namelist()}, archive.comment
    for _ in range(dice.choice([1, 1, 2])):
        name = dice.choice(list(members))
        kind = dice.randrange(10)
        if kind == 0 and len(members) > 1:
            del members[name]
        elif kind == 1:
            members[
                dice.choice(["x.npy", "y.npy", "\x1b.npy", "edge_weight.npy", "node_ids.npy", "format.npy", "shape.npy"])
            ] = members[name]
        elif kind == 2:
            members[name] = raw(members[name], dice)
        elif kind == 3:
            members[name] = _header(members[name], dice)
        else:
            members[name] = _npy(array(np.load(io.BytesIO(members[name])), dice)) if members[name][:1] == b"\x93" else b"x"
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", dice.choice([0, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    ) as archive:
        for name, each in members.items():
            archive.writestr(zipfile.ZipInfo(name), each)
        archive.comment = comment
    return sealed(buffer.getvalue())


def _npy(value: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, value, allow_pickle=True)
    return buffer.getvalue()


def _header(content: bytes, dice: random.Random) -> bytes:
    """Lie about the shape or type in the header of an array, sometimes."""
    if dice.random() < 0.5:
        return content
    shape = dice.choice(
        [b"(9999999999999,)", b"(-1,)", b"(1000000,1000000)", b"('a',)", b"((),)", b"(True,)", b"(" * 60, b"(2,)", b"()"]
    )
    descr = dice.choice([b"'|O'", b"'<U1000000000'", b"'|V0'", b"[('a','<i8')]", b"'x'", b"'<i8'", b"'>f4'", b"(3,)"])
    pattern, change = dice.choice([(rb"\([^)]*\)", shape), (rb"'descr': '[^']*'", b"'descr': " + descr)])
    size = int.from_bytes(content[8:10], "little")
    made = re.sub(pattern, lambda _: change, content[10 : 10 + size], count=1)
    return content[:8] + len(made).to_bytes(2, "little") + made + content[10 + size :]


def parquet(content: bytes, dice: random.Random) -> bytes:
    """Change the columns of a Parquet file, or bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if dice.random() < 0.35:
        return raw(content, dice)
    table = pq.read_table(io.BytesIO(content))
    place = dice.randrange(table.num_columns)
    name, rows = table.column_names[place], table.num_rows
    columns = [
        pa.array(dice.choices([None, 1.5, 1e39, float("nan"), -1.0], k=rows)),
        pa.array(dice.choices([None, 0, 1, -5, 2**62], k=rows)),
        pa.array(dice.choices([None, *(word for word in WORDS if len(word) < 400)], k=rows)).cast(
            dice.choice([pa.string(), pa.large_string()])
        ),
        pa.array(dice.choices([None, b"a", b"\xff"], k=rows)),
        pa.array(dice.choices([None, [1, 2]], k=rows)),
        pa.array(dice.choices([{"a": 1}], k=rows)),
        pa.array(dice.choices(["a", "b", None], k=rows)).dictionary_encode(),
        pa.nulls(rows),
        pa.array(dice.choices([None, True], k=rows)),
        pa.array(dice.choices([0, 10**9], k=rows)).cast(pa.timestamp("s")),
    ]
    kind = dice.randrange(6)
    if kind < 3:
        table = table.set_column(place, dice.choice([name, "source", "id", "\x1b", ""]), dice.choice(columns))
    elif kind == 3:
        table = table.append_column(dice.choice([name, "weight", "target", "__index_level_0__"]), dice.choice(columns))
    elif kind == 4:
        table = table.slice(0, dice.choice([0, 1]))
    else:
        table = table.remove_column(place)
    if dice.random() < 0.1:
        table = table.replace_schema_metadata(
            {"pandas": dice.choice(["{", "[]", '{"index_columns": 3}', '{"index_columns": [{"kind": "range"}]}'])}
        )
    buffer = io.BytesIO()
    pq.write_table(
        table, buffer, compression=dice.choice(["none", "snappy", "gzip", "zstd"]), use_dictionary=dice.random() < 0.5
    )
    return buffer.getvalue()


def space(content: bytes, dice: random.Random) -> bytes:
    """Change the name of a space."""
    words = [
        "E",
        "H",
        "S",
        "Q",
        "K",
        "x",
        "X",
        ",",
        "0",
        "1",
        "10",
        "999999",
        "9" * 30,
        " ",
        "-1",
        "é",
        "\x1b",
        "٣",
        "\n",
        "auto:16",
        "",
    ]
    parts = list(dice.choice(content.decode().splitlines()))
    for _ in range(dice.choice([1, 1, 2, 3])):
        parts.insert(dice.randrange(len(parts) + 1), dice.choice(words))
        if dice.random() < 0.5:
            del parts[dice.randrange(len(parts))]
    return ("".join(parts) * dice.choice([1] * 9 + [20])).encode()
