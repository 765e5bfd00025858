"""Files that are written, the commands, and pages in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from plot_support import RUNS, Page, changed, load, page_of

from tessera import plot
from tessera.plot import _colours
from tessera.plot._command import main, parser

PACKAGE = Path(plot.__file__).parents[1]


@pytest.mark.parametrize("ending", plot.ENDINGS)
def test_the_same_input_gives_the_same_bytes(tmp_path, ending):
    if ending != ".html":
        pytest.importorskip("matplotlib")
    names = [tmp_path / f"{k}{ending}" for k in range(2)]
    for name in names:
        plot.save(name, RUNS / "amg.json", RUNS / "block_jacobi.json", RUNS / "info.json")
    assert names[0].read_bytes() == names[1].read_bytes()
    start = {".html": b"<!DOCTYPE html>", ".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    assert names[0].read_bytes().startswith(start[ending])


def test_files_keep_their_mode_and_links_stay_links(tmp_path):
    target = tmp_path / "target.html"
    target.write_text("before")
    target.chmod(0o640)
    (tmp_path / "link.html").symlink_to("target.html")
    plot.save(tmp_path / "link.html", RUNS / "amg.json")
    assert (tmp_path / "link.html").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["größe 日本.json", "a b'\"&<i>.json", "-o.json"])
def test_names_of_any_letters(tmp_path, name):
    path = changed(tmp_path, file=name, solver="", preconditioner="")
    out = tmp_path / f"{name}.html"
    assert main(["-o", str(out), "--", str(path)]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    assert page.curves[0]["lines"][0]["label"] == str(path)
    assert "i" not in page.tags
    if name != "-o.json":
        pytest.importorskip("matplotlib")
        assert main([str(path), "-o", str(tmp_path / f"{name}.svg")]) == 0


def test_pages_stand_alone_and_names_are_no_markup(tmp_path):
    name = "</script><script>alert(1)</script>&lt;$x^2$\\frac"
    run = load("block_jacobi")
    run["matrix"]["name"] = name
    run["solver"] = name
    page = page_of(tmp_path, run, load("amg"))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in text
    assert name in page.curves[0]["lines"][0]["label"]
    assert set(re.findall(r"https?://[^\"')\s]*", text)) == {"http://www.w3.org/2000/svg"}
    for tag, attribute, value in page.attributes:
        assert attribute not in ("src", "srcset", "action", "onload"), (tag, value)
        assert attribute != "href" or value.startswith("data:image/png;base64,")
    assert "@import" not in text and "url(" not in text.split("</style>")[0]
    scipy.io.mmwrite(tmp_path / "a<i>b.mtx", sp.eye(3))
    page = page_of(tmp_path, tmp_path / "a<i>b.mtx")
    assert "i" not in page.tags
    pytest.importorskip("matplotlib")
    plot.save(tmp_path / "a.svg", run)  # Dollars and backslashes are no mathematics.
    elements = ElementTree.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}text")
    texts = ["".join(each.itertext()) for each in elements]
    label = f"{name} + block_jacobi:16"  # At the curve, and over phases and conditions.
    assert texts.count(label) == 3


def test_pages_are_accessible(tmp_path):
    page = page_of(tmp_path, RUNS / "amg.json", RUNS / "block_jacobi.json", sp.eye(5))
    images = [a for a in page.attributes if a[0] == "svg" and a[1] == "aria-labelledby"]
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(images) == 5 and len(ids) == len(set(ids))
    for _, _, value in images:
        assert all(each in ids for each in value.split())
    assert ("html", "lang", "en") in page.attributes
    assert all(caption for caption, _, _ in page.tables)


def test_colours_are_readable_on_their_ground():
    def luminance(colour: str) -> float:
        parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for theme in (0, 1):
        ground = luminance(_colours.GROUND[theme])
        for colour in (*_colours.COLOURS, _colours.INK, _colours.MUTED):
            low, high = sorted([ground, luminance(colour[theme])])
            assert (high + 0.05) / (low + 0.05) >= 4.5, colour[theme]


def run_python(*words: str, **others) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, **others
    )


def test_needs_no_compiled_part_and_no_matplotlib_to_import():
    code = (
        "import sys, types\n"
        "package = types.ModuleType('tessera')\n"
        f"package.__path__ = [{str(PACKAGE)!r}]\n"
        "sys.modules['tessera'] = package\n"
        "import tessera.plot\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('matplotlib', 'scipy')"
        " or n.startswith('tessera._')))\n"
    )
    outcome = run_python("-c", code)
    assert (outcome.stdout, outcome.stderr) == ("[]\n", "")


def test_python_m_tessera(tmp_path):
    out = tmp_path / "a.html"
    outcome = run_python("-m", "tessera", "plot", str(RUNS / "amg.json"), "-o", str(out))
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
    assert out.exists()
    for words in ([], ["draw"], ["plot"]):
        outcome = run_python("-m", "tessera", *words)
        assert outcome.returncode == 2
        assert outcome.stderr.startswith("tessera: ") and outcome.stderr.count("\n") == 1


def test_the_command_line_knows_the_same_options():
    source = Path(__file__).parents[2] / "apps/tessera/options.cpp"
    if not source.exists():
        pytest.skip("there are no sources of the command line here")
    text = source.read_text()
    text = text[text.index("void add_plot(") :]
    text = text[: text.index("\n}\n")]
    there = set(re.findall(r"--[a-z]+", text)) | {"--help"}
    here = {o for a in parser()._actions for o in a.option_strings if o.startswith("--")}
    assert there == here
    joined = re.sub(r'"\s*"', "", text)
    assert ", ".join(plot.KINDS) in joined


def chromium() -> str:
    if os.environ.get("TESSERA_FULL") != "1":
        pytest.skip("TESSERA_FULL=1 runs it: pages in a browser")
    found = which("chromium")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


def browse(page: Path, tmp_path: Path, *options: str) -> str:
    words = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,900",
             *options, page.as_uri()]  # fmt: skip
    outcome = subprocess.run(words, capture_output=True, timeout=120)
    assert outcome.returncode == 0, outcome.stderr.decode(errors="replace")
    return outcome.stdout.decode()


def test_page_in_a_browser(tmp_path):
    """The script runs without an error, shows values at a key and at the pointer, hides a run."""
    chromium()
    page = tmp_path / "page.html"
    plot.save(page, RUNS / "block_jacobi.json", RUNS / "amg.json", sp.eye(40))
    actions = """<script>
const log = document.body.appendChild(document.createElement("pre"));
log.id = "log";
window.onerror = (message) => log.append("ERROR " + message + "\\n");
const svg = document.querySelector("figure[data-curves] svg");
const values = document.querySelector(".values");
const text = () => [...values.childNodes].map((each) => each.textContent).join("|");
const key = (name) => svg.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
key("Home"); log.append("home " + text() + "\\n");
key("ArrowRight"); log.append("right " + text() + "\\n");
const box = svg.getBoundingClientRect();
svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.right - 20, clientY: box.top + 9}));
log.append("pointer " + text() + "\\n");
key("Home");
document.querySelectorAll(".runs button")[0].click();
const count = () => [...svg.querySelectorAll(".line")].filter(
  (each) => getComputedStyle(each).display === "none").length;
log.append("off " + count() + values.classList.contains("off") + "\\n");
key("Home"); log.append("home " + text() + "\\n");
document.querySelectorAll(".runs button")[0].click();
log.append("on " + count() + "\\n");
log.append("requests " + performance.getEntriesByType("resource").filter(
  (each) => !each.name.startsWith("data:")).length + "\\n");
</script></body>"""
    acting = tmp_path / "acting.html"
    acting.write_text(page.read_text().replace("</body>", actions))
    dom = browse(acting, tmp_path, "--dump-dom")
    log = re.search(r'<pre id="log">(.*?)</pre>', dom, re.S)
    assert log is not None, dom[-2000:]
    names = ("cg + block_jacobi:16, plate_hole:8", "fcg + amg, elasticity3d:5")
    histories = [load(name)["residuals"] for name in ("block_jacobi", "amg")]

    def at(k: int, which=(0, 1)) -> str:
        lines = [f"{names[j]}: {_exponential(histories[j][k])}" for j in which]
        return "|".join([f"iteration {k}", *lines])

    last = len(histories[0]) - 1
    assert log[1].splitlines() == [
        f"home {at(0)}", f"right {at(1)}", f"pointer {at(last, (0,))}", "off 1true",
        f"home {at(0, (1,))}", "on 0", "requests 0",
    ]  # fmt: skip


def _exponential(value: float) -> str:
    mantissa, _, power = f"{value:.3e}".partition("e")
    return f"{mantissa}e{int(power):+d}"


def test_values_of_a_thinned_history_in_a_browser(tmp_path):
    """The kept point that is nearest is shown, with its iteration."""
    chromium()
    residuals = np.exp(-np.arange(30_000) / 2000.0)
    page = page_of(tmp_path, residuals)
    kept = np.array(page.curves[0]["lines"][0]["x"])
    assert len(kept) < 3000
    actions = """<script>
const log = document.body.appendChild(document.createElement("pre"));
log.id = "log";
const svg = document.querySelector("figure[data-curves] svg");
const values = document.querySelector(".values");
for (const name of ["End", "PageDown", "ArrowLeft", "PageDown", "Home", "PageUp", "ArrowRight"]) {
  svg.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
  log.append([...values.childNodes].map((each) => each.textContent).join("|") + "\\n");
}
</script></body>"""
    acting = tmp_path / "acting.html"
    acting.write_text((tmp_path / "page.html").read_text().replace("</body>", actions))
    log = re.search(r'<pre id="log">(.*?)</pre>', browse(acting, tmp_path, "--dump-dom"), re.S)
    assert log is not None
    for at, line in zip(
        (29_999, 28_499, 28_498, 26_998, 0, 1500, 1501), log[1].splitlines(), strict=True
    ):
        nearest = int(kept[np.abs(kept - at).argmin()])
        near = "" if nearest == at else f" (at {nearest:,})"
        value = _exponential(float(residuals[nearest]))
        assert line == f"iteration {at:,}|history: {value}{near}"


@pytest.mark.parametrize("scheme", [0, 1])
def test_screenshot_has_the_colours_of_the_scheme(tmp_path, scheme):
    """The page is drawn on the ground of its scheme, with the colours of both runs."""
    chromium()
    image = pytest.importorskip("matplotlib.image")
    page = tmp_path / "page.html"
    plot.save(page, RUNS / "block_jacobi.json", RUNS / "amg.json")
    picture = tmp_path / "page.png"
    browse(page, tmp_path, f"--screenshot={picture}",
           f"--blink-settings=preferredColorScheme={1 - scheme}")  # fmt: skip
    pixels = np.round(255 * image.imread(picture)[..., :3]).astype(int).reshape(-1, 3)

    def share(colour: str) -> float:
        wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        return float((np.abs(pixels - wanted).max(axis=1) <= 2).mean())

    assert share(_colours.GROUND[scheme]) > 0.7
    for run in range(2):
        assert share(_colours.COLOURS[run][scheme]) > 2e-4
