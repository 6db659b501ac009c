import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from betanll.reports._svg import inline_svg


def figure(text="price"):
    result = Figure(figsize=(4, 3))
    ax = result.subplots()
    ax.plot([0, 1, 2], [0, 1, 0.5], "o-", color="#2b7bba", label=text)
    ax.set_title("RMSE 0.12345")
    ax.legend()
    return result


def test_it_is_one_element_with_a_name():
    svg = inline_svg(figure(), prefix="f1", label='Price "<now>" & then')
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'Price "<now>" & then'
    assert root.get("viewBox") == "0 0 288 216"
    assert root.get("width") is None
    # neither a style for the whole page, nor a date, nor an address
    assert "<style" not in svg
    assert "<metadata" not in svg
    assert "http" not in svg


def test_same_figure_same_text():
    one, two = (inline_svg(figure(), prefix="f", label="a") for _ in range(2))
    assert one == two


def test_ids_are_own_and_every_reference_has_its_target():
    seen = set()
    for prefix in ("f1", "f2"):
        svg = inline_svg(figure(), prefix=prefix, label="a")
        ids = re.findall(r' id="([^"]*)"', svg)
        references = re.findall(r'(?:url\(#|href="#)([^")]*)', svg)
        assert len(set(ids)) == len(ids)
        assert set(references) == set(ids)
        assert ids
        assert not seen & set(ids)
        seen |= set(ids)


def test_black_and_white_follow_the_page():
    svg = inline_svg(figure(), prefix="f", label="a")
    assert not re.search("#000000|#ffffff", svg)
    # axes and texts; the frame of the legend
    assert 'fill="currentColor"' in svg
    assert "stroke: currentColor" in svg
    assert "fill: var(--surface)" in svg
    assert "#2b7bba" in svg


def test_texts_stay_texts_and_keep_their_digits():
    svg = inline_svg(figure("a <b> & c"), prefix="f", label="a")
    texts = [t.text for t in ElementTree.fromstring(svg).iter("text")]
    assert "RMSE 0.12345" in texts
    assert "a <b> & c" in texts
    assert "font-family" not in svg
    # coordinates do not
    assert not re.search(r' [xyd]="[^"]*\.\d{3}', svg)
