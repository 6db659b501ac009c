import pytest

from betanll.sentences import MAX_LENGTH, shortened


@pytest.mark.parametrize("text", ["", "a sentence", "größe: 3 × 4", "two  spaces"])
def test_short_sentences_stay(text):
    assert shortened(text) == text
    assert shortened(f" {text}\n") == text


@pytest.mark.parametrize("n", [MAX_LENGTH, MAX_LENGTH + 1, 10 * MAX_LENGTH, 10**7])
def test_long_sentences_keep_both_ends(n):
    text = "data.csv: ".ljust(n - 10, "x") + ": drop it."
    short = shortened(text)
    assert len(short) == MAX_LENGTH
    assert short.startswith("data.csv: x")
    assert short.endswith("x: drop it.")
    assert (" ... " in short) == (n > MAX_LENGTH)


def test_one_printable_line():
    text = shortened("a\nb\tc\x1b[31md\x00e\u202ef")
    assert text == r"a b c\x1b[31md\x00e\u202ef"
    assert text.isprintable()
    long = shortened("\x1b" * 1000)
    assert len(long) <= MAX_LENGTH
    # Half a character, which JSON may contain, cannot be printed.
    assert shortened("a\ud800\udfff") == r"a\ud800\udfff"
    # The name of a file need not be text.
    assert shortened("odd\udcff.csv") == "odd\udcff.csv"
