import csv
import gzip
import hashlib
import math
import pickle
import shutil

import numpy as np
import pytest

from betanll_paper.datasets import UCI_NAMES, DataError, data_directory, load_uci

OWN_SPLITS = ("carbon", "energy", "naval", "superconductivity", "wine-white")


@pytest.fixture(scope="session")
def tables(data_dir):
    return {name: load_uci(name, data_dir) for name in UCI_NAMES}


@pytest.fixture
def damaged(data_dir, tmp_path):
    """A function that loads yacht after its files were changed by another one."""
    folder = tmp_path / "uci"
    folder.mkdir()
    for suffix in ("csv.gz", "splits.npz"):
        shutil.copyfile(
            data_dir / "uci" / f"yacht.{suffix}", folder / f"yacht.{suffix}"
        )

    def load(change):
        change(folder / "yacht.csv.gz", folder / "yacht.splits.npz")
        with pytest.raises(DataError, match="is damaged") as caught:
            load_uci("yacht", tmp_path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return load


def test_names_are_sorted():
    assert len(UCI_NAMES) == 12
    assert list(UCI_NAMES) == sorted(UCI_NAMES)


def test_shapes_of_the_paper(tables, data_dir):
    path = data_dir.parent / "paper" / "uci_datasets.csv"
    if not path.exists():
        pytest.skip("the sizes of the paper are not beside the data")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["dataset"] for row in rows] == list(UCI_NAMES)
    for row in rows:
        table = tables[row["dataset"]]
        assert table.x.shape == (int(row["n"]), int(row["input_dim"]))
        assert table.y.shape == (int(row["n"]), int(row["output_dim"]))
        assert table.x.dtype == table.y.dtype == np.float64
        assert table.x.shape[1] == len(table.input_names)
        assert table.y.shape[1] == len(table.target_names)


def test_files_are_those_of_the_readme(data_dir):
    path = data_dir / "README.md"
    if not path.exists():
        pytest.skip("there is no list of checksums beside the data")
    lines = [line.split("  ") for line in path.read_text().splitlines()]
    sums = {line[1]: line[0] for line in lines if line[-1].startswith("uci/")}
    assert len(sums) == 24
    for name, expected in sums.items():
        content = (data_dir / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected, name


def test_values_are_those_of_the_file(data_dir, tables):
    with gzip.open(data_dir / "uci" / "kin8m.csv.gz", "rt") as file:
        rows = list(csv.reader(file))
    table = tables["kin8m"]
    assert tuple(rows[0]) == table.input_names + table.target_names
    expected = np.array([[float(cell) for cell in row] for row in rows[1:]])
    np.testing.assert_array_equal(np.hstack([table.x, table.y]), expected)


def test_target_order():
    from betanll_paper.datasets.uci import UCI_FACTS

    assert UCI_FACTS["energy"].targets == ("y_heating_load", "y_cooling_load")


@pytest.mark.parametrize("name", OWN_SPLITS)
def test_own_splits_follow_the_recipe(tables, name):
    table = tables[name]
    n_rows = len(table.x)
    n_test = math.ceil(0.1 * n_rows)
    assert table.n_splits == 20
    for k in range(20):
        # The legacy generator: the published splits were drawn with it.
        order = np.random.RandomState(6 + k).permutation(n_rows)
        train, test = table.split(k)
        np.testing.assert_array_equal(test, order[:n_test])
        np.testing.assert_array_equal(train, order[n_test:])


def test_splits_share_out_the_rows(tables):
    assert [len(rows) for rows in tables["energy"].split(0)] == [691, 77]
    assert tables["protein"].n_splits == 5
    for table in tables.values():
        for k in range(table.n_splits):
            rows = np.concatenate(table.split(k))
            np.testing.assert_array_equal(np.sort(rows), np.arange(len(table.x)))


def test_split_out_of_range(tables):
    for k in (-1, 5):
        with pytest.raises(DataError, match=f"the splits 0 to 4, got {k}"):
            tables["protein"].split(k)


def test_table_travels_to_other_processes(tables):
    copy = pickle.loads(pickle.dumps(tables["yacht"]))
    np.testing.assert_array_equal(copy.split(3)[0], tables["yacht"].split(3)[0])


def test_unknown_and_missing(tmp_path):
    with pytest.raises(DataError, match=r"did you mean 'yacht'\?"):
        load_uci("yatch", tmp_path)
    with pytest.raises(DataError, match="betanll data download uci") as caught:
        load_uci("yacht", tmp_path)
    assert str(tmp_path / "uci" / "yacht.csv.gz") in str(caught.value)


def test_homes_of_nobody_are_refused(refused, monkeypatch):
    message = "~nouser/x: the home folder of this user is not known"
    for command in (("data", "list"), ("data", "download", "boston")):
        assert message in refused(*command, "--data-dir", "~nouser/x")
    monkeypatch.setenv("BETANLL_DATA", "~nouser/x")
    assert message in refused("reproduce", "table1", "--preset", "smoke")


def test_data_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_directory(tmp_path) == tmp_path
    assert data_directory() == tmp_path / "named"
    monkeypatch.setenv("BETANLL_DATA", "")
    assert data_directory() == tmp_path / "cache" / "betanll" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_directory() == tmp_path / "home" / ".cache" / "betanll" / "data"


def test_damaged_table(damaged, data_dir):
    packed = (data_dir / "uci" / "yacht.csv.gz").read_bytes()
    whole = gzip.decompress(packed)

    def written(content):
        return damaged(lambda table, splits: table.write_bytes(content))

    def replaced(old, new):
        return written(gzip.compress(whole.replace(old, new, 1)))

    for content in (b"", b"<html>", packed[:-100], packed[:-100] + bytes(100)):
        written(content)
    written(gzip.compress(b""))
    written(gzip.compress(b"\xff\xfe"))
    assert "columns" in replaced(b"x_froude_number", b"x_speed")
    last = whole.splitlines()[-1] + b"\n"
    assert "307 rows instead of 308" in written(gzip.compress(whole[: -len(last)]))
    replaced(b"0.568", b"high")
    replaced(b"0.568", b"")
    replaced(b"0.568,", b"")
    assert "finite" in replaced(b"0.568", b"inf")
    assert "finite" in replaced(b"0.568", b"nan")


def test_damaged_splits(damaged, data_dir):
    with np.load(data_dir / "uci" / "yacht.splits.npz") as file:
        whole = dict(file)

    def changed(**arrays):
        return lambda table, splits: np.savez(splits, **{**whole, **arrays})

    def cut(table, splits):
        splits.write_bytes(splits.read_bytes()[:500])

    test = whole["test_7"]
    assert "split 7 " in damaged(changed(test_7=test[1:]))
    assert "split 7 " in damaged(changed(test_7=np.append(test[1:], test[1])))
    assert "split 7 " in damaged(changed(test_7=test + 1000))
    assert "split 7 " in damaged(changed(test_7=test.astype(float)))
    assert "split 7 " in damaged(changed(test_7=test[None]))
    everything = np.arange(308)
    assert "split 7 " in damaged(changed(train_7=everything, test_7=everything[:0]))
    damaged(changed(test_7=np.array([{}], object)))
    damaged(cut)
    damaged(lambda table, splits: splits.write_bytes(b""))
    del whole["test_19"]
    assert "a split is missing" in damaged(changed())
