"""Reports in a real browser: on a desktop, on a phone and in the dark."""

import re
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure

from betanll.reports import Picture

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None,
    reason="Chromium and its driver are not installed",
)


@pytest.fixture(scope="module")
def browser():
    reason = "selenium is not installed"
    webdriver = pytest.importorskip("selenium.webdriver", reason=reason)
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(CHROMEDRIVER)
    )
    yield driver
    driver.quit()


@pytest.fixture(scope="module", params=[1, 3])
def page(request, browser, make_report, tmp_path_factory):
    """The browser, at a report of one target or of three with gaps and long names."""
    d = request.param
    figure = Figure(figsize=(5, 2))
    figure.subplots().plot([0, 1], [0, 1], label="line")
    report = make_report(
        d=d,
        is_missing=d > 1,
        target_names=["averylongname" * 8, "b", "c"][:d],
        introduction=[Picture(figure, "First", "Text")],
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report.html(), encoding="utf-8")
    browser.get(path.as_uri())
    return browser


def show(driver, *, width=1280, scheme="light"):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 800,
            "deviceScaleFactor": 1,
            "mobile": width < 600,
        },
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def style(driver, selector, name):
    script = (
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    )
    return driver.execute_script(script, selector, name)


def luminance(color):
    rgb = np.array([int(c) for c in re.findall(r"\d+", color)[:3]]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_nothing_is_reported_or_requested(page):
    show(page)
    # Violations of the content policy would be reported here as well.
    assert page.get_log("browser") == []
    script = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert [name for name in page.execute_script(script) if name != "data:,"] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_every_figure_is_visible(page, width):
    show(page, width=width)
    sizes = page.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(e => {"
        "const r = e.getBoundingClientRect(); return [r.width, r.height]})"
    )
    assert len(sizes) in (1 + 5 + 3, 1 + 15 + 3)
    assert np.min(sizes) > 100
    # and so are its texts, which must not become too small to read
    heights = page.execute_script(
        "return [...document.querySelectorAll('section figure svg text')].map(e => {"
        "const m = e.getScreenCTM();"
        "return parseFloat(getComputedStyle(e).fontSize) * Math.hypot(m.a, m.b)})"
    )
    assert min(heights) > 9


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
def test_page_does_not_scroll_sideways(page, width):
    show(page, width=width)
    script = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    content, view = page.execute_script(script)
    assert content <= view <= width


def test_tables_scroll_inside_their_boxes(page):
    show(page, width=360)
    widths = page.execute_script(
        "return [...document.querySelectorAll('.scroll')].map("
        "e => [e.scrollWidth, e.clientWidth, e.getBoundingClientRect().right])"
    )
    assert any(content > box for content, box, _ in widths)
    assert all(right <= 360 for _, _, right in widths)


def test_texts_of_a_figure_stay_inside(page):
    show(page, width=360)
    outside = page.execute_script(
        "return [...document.querySelectorAll('figure svg text')].filter(e => {"
        "const r = e.getBoundingClientRect();"
        "const s = e.closest('svg').getBoundingClientRect();"
        "return r.left < s.left - 1 || r.right > s.right + 1"
        " || r.top < s.top - 1 || r.bottom > s.bottom + 1"
        "}).map(e => e.textContent)"
    )
    assert outside == []


def test_dark_mode_changes_the_colours_and_keeps_the_contrast(page):
    seen = {}
    for scheme in ("light", "dark"):
        show(page, scheme=scheme)
        background = style(page, "figure", "backgroundColor")
        seen[scheme] = style(page, "body", "backgroundColor")
        for selector, name in (
            ("h1", "color"),
            ("figcaption", "color"),
            ("figure svg text", "fill"),
            (".good strong", "color"),
            (".note strong", "color"),
            (".warning strong", "color"),
        ):
            color = style(page, selector, name)
            assert contrast(color, background) > 4.5, (scheme, selector)
            assert contrast(color, seen[scheme]) > 4.5, (scheme, selector)
    assert luminance(seen["dark"]) < 0.05 < 0.8 < luminance(seen["light"])
