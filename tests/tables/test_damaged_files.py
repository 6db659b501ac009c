"""Damaged files: a table or one sentence, and the same numbers in pieces.

Set BETANLL_FUZZ, and --timeout=0, to try more files than the usual few hundred.
"""

import gzip
import io
import os
import random
import zipfile

import numpy as np
import pandas as pd
import pytest

from betanll.columns import summarise
from betanll.tables import TableError, TableSchema, open_table

N_FILES = int(os.environ.get("BETANLL_FUZZ", "300"))
TEXTS = [
    "a,b,y\n" + "".join(f"{i}.5,{i % 3},{i * i}\n" for i in range(12)),
    ",c,y\n" + "".join(f'{i},"x{i % 4}, z",{i}e-3\n' for i in range(12)),
    "a;b;y\n" + "".join(f"{i},5;1.20{i},50;{i}\n" for i in range(9)),
    "a,b,c,y\n" + "".join(f'"$1,{i}00",{i}%,"1.{i}00,50 €",{i}\n' for i in range(1, 9)),
    "a\tb\ty\n"
    + "".join(f"{'ny'[i % 2]}\t?\t1,{i}00\n" for i in range(8))
    + "y\t7\t2\n",
    "größe|y\n" + "".join(f"{i}'00{i}|{-i}\n" for i in range(1, 9)),
]
PIECES = [
    *(b'"', b'""', b'"\n', b"\0", b"\r", b"\n", b"\r\n", b"\\", b"\x1b[31m", b"\x85"),
    *(b",", b";", b"\t", b"|", b" ", b"'", b"\xc2\xa0", b"\xe2\x80\xa8", b"#", b"-"),
    *(b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xe9"),
    *(b"9" * 400, b"1e999", b"-inf", b"nan", b"0x1p3", b"1_000", b"\xd9\xa3", b"1e"),
    *(b"$", b"%", b"\xe2\x82\xac", b"1,000", b"1.000", b"1.000,5", b"0,5", b"$5"),
    *(b"true", b"2024-05-01", b"x" * 5000, b"," * 300, b"a,a", b"{}", b"=1+1"),
]
ENCODINGS = ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "cp037"]


def mutated(content, rng):
    """Return bytes with one to three changes, most of them small."""
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(content) + 1)
        j = min(len(content), i + rng.choice([0, 0, 1, 1, 2, 8, 1000]))
        content = rng.choice(
            [
                content[:i] + rng.choice(PIECES) + content[j:],
                content[:i] + content[j:],
                content[:j] + content[i:],
            ]
        )
    return content


def flipped(content, rng):
    """Return bytes with one to three flipped bits."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def text_file(rng):
    """Return the name and the bytes of a damaged text file."""
    text = rng.choice(TEXTS)
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.1 else "utf-8"
    content = text.encode(encoding, "replace")
    content = rng.choice([mutated, mutated, mutated, flipped])(content, rng)
    name = "t" + rng.choice([".csv", ".csv", ".csv", ".tsv", ".txt", ".csv.gz"])
    if name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
        content = mutated(content, rng) if rng.random() < 0.5 else content
    return name, content


def parquet_file(rng):
    """Return the name and the bytes of a damaged Parquet file."""
    text = rng.choice(TEXTS)
    delimiter = text.splitlines()[0][-2]
    frame = pd.read_csv(io.StringIO(text), sep=delimiter)
    if rng.random() < 0.3:
        frame = frame.sample(frac=1, random_state=0)
    buffer = io.BytesIO()
    frame.to_parquet(buffer, compression=rng.choice([None, "snappy", "zstd"]))
    content = buffer.getvalue()
    # What follows the columns is a description, which hardly survives any change.
    n = content.index(b"ARROW:schema") if rng.random() < 0.8 else len(content)
    change = rng.choice([mutated, flipped, flipped])
    return "t.parquet", change(content[:n], rng) + content[n:]


def json_file(rng):
    """Return the name and the bytes of damaged records."""
    text = rng.choice(TEXTS)
    frame = pd.read_csv(io.StringIO(text), sep=text.splitlines()[0][-2])
    is_array = rng.random() < 0.3
    content = frame.to_json(orient="records", lines=not is_array, force_ascii=False)
    change = rng.choice([mutated, mutated, flipped])
    return "t.jsonl", change(content.encode(), rng)


def excel_file(rng):
    """Return the name and the bytes of a workbook with a damaged member or frame."""
    text = rng.choice(TEXTS)
    frame = pd.read_csv(io.StringIO(text), sep=text.splitlines()[0][-2])
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False)
    change = rng.choice([mutated, flipped])
    if rng.random() < 0.3:
        return "t.xlsx", change(buffer.getvalue(), rng)
    damaged = io.BytesIO()
    with zipfile.ZipFile(buffer) as archive, zipfile.ZipFile(damaged, "w") as other:
        unlucky = rng.choice([*archive.namelist(), "xl/worksheets/sheet1.xml"])
        for name in archive.namelist():
            content = archive.read(name)
            other.writestr(name, change(content, rng) if name == unlucky else content)
    return "t.xlsx", damaged.getvalue()


def outcome(path):
    """Return "read", or the sentence that refuses the file."""
    try:
        table = open_table(path)
        frame = table.read()
        assert tuple(frame.columns) == table.columns
        schema = TableSchema.infer(frame, targets=[table.columns[-1]])
        y = np.zeros((len(frame), 1))
        encoder, _ = schema.encoder.fit_encode(frame, y)
        X = encoder.encode(frame)
        assert np.isfinite(X).all()
        lines = [*summarise(encoder, frame)]
        assert all(n.isprintable() for line in lines for n in line.notes)
        pieces = table.chunks(3, text=schema.text_columns)
        X_pieces = np.concatenate([encoder.encode(piece) for piece in pieces])
    except TableError as error:
        return str(error)
    np.testing.assert_array_equal(X_pieces, X)
    return "read"


@pytest.mark.parametrize("make", [text_file, parquet_file, json_file, excel_file])
def test_damaged_files(tmp_path, make):
    if make is parquet_file:
        pytest.importorskip("pyarrow")
    if make is excel_file:
        pytest.importorskip("openpyxl")
    outcomes = []
    for seed in range(N_FILES):
        name, content = make(random.Random(seed))
        path = tmp_path / name
        path.write_bytes(content)
        try:
            outcomes.append(outcome(path))
        except Exception as error:
            error.add_note(f"seed {seed}, {name}: {content[:2000]!r}")
            raise
    assert all(text.isprintable() and len(text) <= 300 for text in outcomes)
    assert 0 < outcomes.count("read") < N_FILES
