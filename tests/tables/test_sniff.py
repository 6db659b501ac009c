"""What the start of a text file tells about the rest."""

import pytest

from betanll.tables import TableSchema, open_table


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["5,700", "900", "12,300"], [5700, 900, 12300]),
        (["5,700", "-1,234,567", "0"], [5700, -1234567, 0]),
        (["1,234", "2,345", "3,456"], [1.234, 2.345, 3.456]),
        (["5,700", "900", "12,3"], [5.7, 900, 12.3]),
        (["5,700", "900", "0,123"], [5.7, 900, 0.123]),
        (["5,700", "1200", "1,5"], [5.7, 1200, 1.5]),
    ],
)
def test_commas_of_thousands_and_of_decimals(tmp_path, cells, numbers):
    path = tmp_path / "table.csv"
    path.write_text("a;y\n" + "".join(f"{cell};1\n" for cell in cells))
    frame = open_table(path).read()
    schema = TableSchema.infer(frame, targets=["y"])
    assert schema.encoder.encode(frame)[:, 0].tolist() == numbers
