"""What is said about a training table."""

from betanll.tables._infer import MAX_CATEGORIES


def cities(sizes):
    return [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]


def test_every_cut_is_said(infer):
    frame, schema = infer(city=cities([5] * 30 + [1] * 16), few=["x", "y"] * 83)
    assert schema.training_notes(frame) == [
        "column 'city': 30 of 46 categories kept, 90% of the rows"
    ]


def test_no_cut_no_note(infer):
    frame, schema = infer(city=cities([2] * MAX_CATEGORIES), x=range(60))
    assert schema.training_notes(frame) == []


def test_a_small_cut_is_never_all_of_the_rows(infer):
    frame, schema = infer(city=cities([100] * 30 + [1]))
    assert schema.training_notes(frame) == [
        "column 'city': 30 of 31 categories kept, 99% of the rows"
    ]


def test_missing_cells_are_not_cut(infer):
    frame, schema = infer(city=[*cities([2] * 30 + [1] * 10), *[None] * 30])
    assert schema.training_notes(frame) == [
        "column 'city': 30 of 40 categories kept, 90% of the rows"
    ]


def test_written_numbers_are_said_with_an_example(infer):
    frame, schema = infer(
        a=[None, "7", "$5,700", "$90"], b=["1.200,50 €"] * 4, y=["0", "12%", "3%", "0"]
    )
    assert schema.training_notes(frame) == [
        "column 'y' is read as numbers: '12%' is 12",
        "column 'a' is read as numbers: '$5,700' is 5700",
        "column 'b' is read as numbers: '1.200,50 €' is 1200.5",
    ]
