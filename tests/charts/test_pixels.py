"""Every file of a picture, drawn without a browser, beside what a browser draws of the same SVG."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page
from scipy.ndimage import maximum_filter, minimum_filter

from noisycount.charts.png import svg_as_png
from noisycount.service.keys import Role, User
from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.explore.views import VIEWS
from tests.helpers.browser import WIDE, chromium, window
from tests.helpers.commands import Run, here, run
from tests.helpers.running_service import Service, configured, served

__all__ = ["chromium", "here", "run"]

pytestmark = pytest.mark.thorough

Pixels = NDArray[np.int16]  # of shape (height, width, 3)
_SCALE = 2  # pixels of a PNG for one unit of its SVG
_COLOUR = 40  # of 255: by so much may the edge of a shape be lighter or darker
_SHARE = 2e-4  # of the pixels may differ by more: corners where lines meet
_BESIDE = 3  # pixels around a text
_MARGIN = 12  # pixels above a picture without a heading

DECODE = """async (png) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const bytes = canvas.getImageData(0, 0, image.width, image.height).data;
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return [image.width, image.height, btoa(text)];
}"""
BOXES = """() => [...document.querySelectorAll("text")].filter(text => text.textContent.trim()).map(
  text => { const box = text.getBoundingClientRect(); return [box.x, box.y, box.right, box.bottom]; })"""


def pixels(page: Page, png: bytes) -> Pixels:
    """Give the colours of a PNG, which covers all of its background."""
    width, height, text = page.evaluate(DECODE, base64.b64encode(png).decode())
    colours = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(height, width, 4).astype(np.int16)
    assert (colours[..., 3] == 255).all()
    return colours[..., :3]


def drawn_twice(browser: Browser, svg: Path, png: bytes) -> tuple[Pixels, Pixels, list[list[float]]]:
    """Give a PNG, what a browser draws of the SVG at the size that it states, and where its texts are."""
    root = ET.parse(svg).getroot()  # noqa: S314 - our own
    width, height = (round(float(root.attrib[side])) for side in ("width", "height"))
    context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=_SCALE)
    page = context.new_page()
    page.goto(svg.as_uri())
    found = pixels(page, png), pixels(page, page.screenshot()), page.evaluate(BOXES)
    context.close()
    return found


def outside(one: Pixels, other: Pixels) -> NDArray[np.bool_]:
    """Give the pixels whose colour is at no neighbour of theirs in the other picture: edges may lie a pixel apart."""
    low, high = minimum_filter(other, (3, 3, 1)), maximum_filter(other, (3, 3, 1))
    return np.any((one < low - _COLOUR) | (one > high + _COLOUR), axis=2)


def require_same(browser: Browser, svg: Path, png: bytes) -> None:
    """Require that a PNG shows what a browser shows of the SVG."""
    require_alike(*drawn_twice(browser, svg, png))


def require_alike(drawn: Pixels, shown: Pixels, boxes: list[list[float]]) -> None:
    """Require that a picture shows what a browser shows; texts, whose fonts may differ, have ink."""
    assert np.abs(np.subtract(drawn.shape, shown.shape)).max() <= _SCALE
    height, width = (min(sides) for sides in zip(drawn.shape[:2], shown.shape[:2], strict=True))
    drawn, shown = drawn[:height, :width], shown[:height, :width]
    differing = outside(drawn, shown) | outside(shown, drawn)
    assert boxes
    for box in boxes:
        left, top, right, bottom = (max(0, round(_SCALE * end)) for end in box)
        text = drawn[top:bottom, left:right]
        assert np.ptp(text) > _COLOUR, "a text has no ink"
        differing[max(0, top - _BESIDE) : bottom + _BESIDE, max(0, left - _BESIDE) : right + _BESIDE] = False
    rows, columns = np.nonzero(differing)
    assert len(rows) <= _SHARE * differing.size, f"{len(rows)} pixels, such as {[*zip(columns, rows, strict=True)][:3]}"


def require_sized(text: str) -> None:
    """Require that an SVG states its size, and the view that fills it."""
    root = ET.fromstring(text)  # noqa: S314 - our own
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert (width, height) == (float(root.attrib["width"]), float(root.attrib["height"]))


MONTHS = [f"2025-{month:02d}" for month in range(1, 13)]
ONE = {"epsilon": "1", "groups_per_unit": 1}
ASKED: dict[str, dict[str, Any]] = {
    "count": {"where": "age >= 65", "epsilon": "0.15"},
    "refined count": {"where": "age > 88", "epsilon": "0.02"},
    "line": {"by": "day:month", "keys": {"day": MONTHS}, "epsilon": "0.1", "groups_per_unit": 1},
    "lines": {"by": ["day:month", "town"], "keys": {"day": MONTHS, "town": ["Bern", "Genf"]}, **ONE},
    "ranges": {"by": "age:0,14,29,49,69", **ONE},
    "list": {"where": ["age >= 65", "age < 9", "age < 20"], "epsilon": "0.5"},
    "sums so far": {"by": "age:0,14,29,49,69", "cumulative": True, **ONE},
}


ANA = User("ana", Role.ANALYST, frozenset({"stay"}))
CONFIGURATION = """
[ledger]
url = "sqlite:///ledger.db"

[datasets.stay]
source = "stay.csv"
unit = "person"
size = 1317
budget = "500"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give a service over persons with days."""
    folder = tmp_path_factory.mktemp("service")
    rows = (f"{i},{i % 90},{'Genf' if i % 3 else 'Bern'},2025-{i % 12 + 1:02d}-03" for i in range(1317))
    (folder / "stay.csv").write_text("person,age,town,day\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with served(configured(folder, CONFIGURATION), ANA) as running:
        yield running


def saved(service: Service, address: str, folder: Path) -> tuple[Path, bytes]:
    """Give the file of a downloaded SVG, and the PNG that is offered beside it."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}"}
    svg, png = (httpx.get(f"{service.url}{address}form={form}", headers=headers, timeout=60) for form in ("svg", "png"))
    assert (svg.status_code, png.status_code) == (200, 200)
    require_sized(svg.text)
    file = folder / "picture.svg"
    file.write_text(svg.text, encoding="utf-8")
    return file, png.content


@pytest.mark.parametrize("kind", ASKED)
def test_downloads_of_answers_are_the_pictures_of_a_browser(
    chromium: Browser, service: Service, tmp_path: Path, kind: str
) -> None:
    """Pixel by pixel, and without a style sheet, which not every program reads."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}", "Idempotency-Key": kind.replace(" ", "-")}
    reply = httpx.post(f"{service.url}/v1/datasets/stay/releases", json=ASKED[kind], headers=headers, timeout=60)
    assert reply.status_code == 201, reply.text
    file, png = saved(service, f"/releases/{reply.json()['key']}/file?", tmp_path)
    assert "<style" not in file.read_text(encoding="utf-8")
    require_same(chromium, file, png)


@pytest.mark.parametrize("kind", ["count", "refined count", "line", "lines"])
def test_downloads_show_what_the_page_shows(chromium: Browser, service: Service, tmp_path: Path, kind: str) -> None:
    """The picture below the heading of the PNG is that of the page, with the colours of its style sheet."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}", "Idempotency-Key": kind.replace(" ", "-")}
    reply = httpx.post(f"{service.url}/v1/datasets/stay/releases", json=ASKED[kind], headers=headers, timeout=60)
    place = f"/releases/{reply.json()['key']}"
    _, png = saved(service, f"{place}/file?", tmp_path)
    context = chromium.new_context(
        viewport={"width": WIDE, "height": 900}, device_scale_factor=_SCALE, extra_http_headers=headers
    )
    page = context.new_page()
    page.goto(f"{service.url}{place}")
    picture = page.locator(".picture svg:visible")
    picture.evaluate("svg => Object.assign(svg.style, {position: 'fixed', left: 0, top: 0, background: 'white'})")
    width, height = (int(picture.get_attribute(side) or 0) for side in ("width", "height"))
    shown = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height})
    blank = context.new_page()  # whose policy lets it read a PNG
    below_heading = pixels(blank, png)[-_SCALE * height :, : _SCALE * width]
    below_heading[: _SCALE * _MARGIN] = 255  # the last note may reach into the margin of the picture on the page
    require_alike(below_heading, pixels(blank, shown), [box for box in page.evaluate(BOXES) if box[2] > 0])
    context.close()


@pytest.mark.parametrize("name", VIEWS)
def test_downloads_of_sliders_are_the_pictures_of_a_browser(
    chromium: Browser, service: Service, tmp_path: Path, name: str
) -> None:
    """Charts of Explore look the same as SVG in a browser and as PNG."""
    file, png = saved(service, f"/explore/data?chart={name}&{Sliders().query}&", tmp_path)
    assert "<style" not in file.read_text(encoding="utf-8")
    require_same(chromium, file, png)


COUNTED = "count survey.parquet --unit person --epsilon 1 --groups-per-unit 1"
COMMANDS = {
    "plan": "plan --error 15",
    "guess": "plan --within 20% --guess 100 --confidence 95%",
    "forecast": "plan --cells town=16,sex=2 --epsilon 1",
    "risk": "risk --size 100 --rate 10% --noise laplace --scale 3",
    "refine": "refine 107 --size 5912 --rate 1.7% --epsilon 0.15",
    "table": f"{COUNTED} --by site,female --keys site=1,2,3,4,5,6",
    "ranges": f"{COUNTED} --by age:0,14,29,49,65",
    "sums": f"{COUNTED} --by age:0,14,29,49,65 --cumulative",
    "list": "count survey.parquet --unit person --epsilon 1 --where age>60 --where female --where site=4",
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_plots_of_commands_are_the_pictures_of_a_browser(chromium: Browser, run: Run, here: Path, kind: str) -> None:
    """Pictures of `--plot` look the same as SVG in a browser and as PNG."""
    for ending in ("svg", "png"):
        assert run(*COMMANDS[kind].split(), "--plot", f"plot.{ending}").status == 0
    require_sized((here / "plot.svg").read_text(encoding="utf-8"))
    require_same(chromium, here / "plot.svg", (here / "plot.png").read_bytes())


def test_figures_are_the_pictures_of_a_browser(chromium: Browser, run: Run, here: Path) -> None:
    """Figures with lines, dots and logarithmic axes look the same as SVG in a browser and as PNG."""
    options = ("--only", "naldi2014.1,breutigam.1", "--format", "svg,png", "--out", "figures")
    assert run("figures", *options).status == 0
    files = [*(here / "figures").glob("*.svg")]
    assert len(files) == 2
    for file in files:
        require_sized(file.read_text(encoding="utf-8"))
        require_same(chromium, file, file.with_suffix(".png").read_bytes())


@pytest.mark.parametrize(("width", "dark"), [(360, True), (WIDE, False)])
def test_lines_of_a_page_are_no_areas(chromium: Browser, service: Service, width: int, *, dark: bool) -> None:
    """On a phone and a desktop, in light and dark: every line has a colour and no inside, and the picture fits."""
    headers = {"Authorization": f"Bearer {service.keys['ana']}", "Idempotency-Key": "lines"}
    reply = httpx.post(f"{service.url}/v1/datasets/stay/releases", json=ASKED["lines"], headers=headers, timeout=60)
    with window(chromium, service.url, width, dark=dark) as opened:
        opened.log_in(service.keys["ana"])
        opened.go(f"/releases/{reply.json()['key']}")
        lines = opened.page.locator(".picture svg:visible path[stroke-linejoin]")
        styles = lines.evaluate_all("lines => lines.map(getComputedStyle).map(style => [style.fill, style.stroke])")
        assert [fill for fill, _ in styles] == ["none"] * 2
        assert len({stroke for _, stroke in styles}) == 2
        assert "none" not in {stroke for _, stroke in styles}
        assert opened.overflow() <= 0
        assert opened.violations() == []


def test_another_picture_is_found(chromium: Browser, tmp_path: Path) -> None:
    """The comparison sees a line that became an area, and a line of another width."""
    frame = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 60" width="90" height="60" {}>{}</svg>'
    inner = '<rect width="90" height="60" fill="#fff"/><text x="60" y="50" fill="#000">a</text>{}'
    course = '<path d="M5 50L30 10L50 40" {}/>'
    right = frame.format(
        'font-family="Arial, Liberation Sans, sans-serif"',
        inner.format(course.format('fill="none" stroke="#0072b2" stroke-width="2.5"')),
    )
    (tmp_path / "right.svg").write_text(right, encoding="utf-8")
    require_same(chromium, tmp_path / "right.svg", svg_as_png(right))
    for wrong in (right.replace(' fill="none"', ""), right.replace("2.5", "8"), right.replace("#0072b2", "#c24a00")):
        with pytest.raises(AssertionError, match="pixels, such as"):
            require_same(chromium, tmp_path / "right.svg", svg_as_png(wrong))
    with pytest.raises(AssertionError, match="no ink"):
        require_same(chromium, tmp_path / "right.svg", svg_as_png(right.replace(">a<", "> <")))


@pytest.mark.parametrize("file", sorted(Path(__file__).parents[2].glob("docs/**/*.svg")), ids=lambda file: file.stem)
def test_pictures_of_the_pages_state_their_size(file: Path) -> None:
    """A page that gives them less room shows them smaller, whole."""
    require_sized(file.read_text(encoding="utf-8"))
