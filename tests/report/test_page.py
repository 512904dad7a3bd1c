"""The page about runs, in a real browser."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from urllib.parse import quote

import numpy as np
import pytest

from hyperaction import Hypergraph, cli
from hyperaction.analysis.explain import Explanation
from hyperaction.analysis.rollout import Rollout
from tests.report.test_tables import write

CHROMIUM = shutil.which("chromium")
NAME = '<script>alert(1)</script> & "quotes"'


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def runs(tmp_path):
    """Runs of two agents in two environments, one of them explained and named to break out."""
    folder = tmp_path / "runs"
    for seed in range(3):
        write(folder / f"h{seed}", "HalfCheetahBulletEnv-v0", "hgqn", seed, [1, 5, 9 + seed],
              orders=[1], edges=[], mixer="sum")  # fmt: skip
        write(folder / f"w{seed}", "Walker2DBulletEnv-v0", "hgqn", seed, [1, 2], orders=[1])
    write(folder / "b", "HalfCheetahBulletEnv-v0", "bdqn", 0, [2, 3, 4, 5])
    odd = folder / NAME.replace("/", "|")
    write(odd, "HalfCheetahBulletEnv-v0", "dqn", 0, [7])
    explanation = Explanation(Hypergraph.complete((2, 3, 2, 2), rank=3), affine=True, weights=None)
    outputs = np.random.default_rng(0).normal(size=(5, explanation.hypergraph.num_outputs))
    explanation.add(Rollout(outputs, np.zeros((5, 4), int), np.zeros(5)))
    (odd / "explain").mkdir()
    found = {"names": ["<b>hip</b>", "knee", "toe", "tail"], **explanation.as_json()}
    (odd / "explain" / "explain.json").write_text(json.dumps(found))
    shares = [{"vertices": [0, 1], "share": 0.2, "kept": True},
              {"vertices": [1, 2], "share": 0.1, "kept": False},
              {"vertices": [0], "share": 0.7, "kept": True}]  # fmt: skip
    change = {"step": 9, "message": "step 9: kept <b>", "edges": [[0], [0, 1]], "shares": shares}
    chosen = {"sizes": [2, 2, 2], "changes": [change]}
    (folder / "h0" / "structure.json").write_text(json.dumps(chosen))
    (odd / "video 1.mp4").write_bytes(b"no video")
    return folder


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shifted += e.value; }))
  .observe({ type: "layout-shift", buffered: true });
"""


def opened(browser, address, width=1000, scheme="light"):
    """An opened page, and the messages of its console."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.add_init_script(SHIFTS)
    page.goto(address)
    page.wait_for_selector("body[data-drawn=yes]")
    return page, messages


def points(page):
    return page.locator("#curves path[aria-roledescription=point]").count()


def test_the_page_shows_all_runs_offline(browser, runs, tmp_path):
    file = tmp_path / "report.html"
    assert cli.main(["report", str(runs), "--out", str(file)]) == 0
    text = file.read_text()
    assert len(text) < 5_000_000
    assert 'src="http' not in text
    page, messages = opened(browser, f"file://{file}")
    page.context.set_offline(True)
    assert page.locator("#about").inner_text() == "8 runs, 8 complete, 2 environments."
    # A point for every evaluation of the mean curves: three of hgqn, four of bdqn, one of dqn.
    assert page.locator("#curves").get_attribute("data-points") == "8"
    assert points(page) == 8
    page.get_by_role("checkbox", name="bdqn").uncheck()
    page.wait_for_function("document.querySelector('#curves').dataset.points === '4'")
    page.get_by_role("checkbox", name="bdqn").press("Space")  # By keyboard.
    page.wait_for_function("document.querySelector('#curves').dataset.points === '8'")
    page.get_by_role("combobox", name="Environment").select_option("Walker2DBulletEnv-v0")
    page.wait_for_function("document.querySelector('#curves').dataset.points === '2'")
    assert page.get_by_role("checkbox", name="bdqn").count() == 0
    assert page.locator("#changes p").all_inner_texts() == ["step 9: kept <b>"]
    assert page.locator("#chosen path[aria-roledescription=bar]").count() == 2
    # Names are text, wherever they come.
    assert page.locator("#differences td").filter(has_text="<script>alert(1)").count() == 1
    assert page.locator("text=<b>hip</b>").count() >= 1
    assert page.locator("table caption").all_inner_texts()[:2] == [
        "HalfCheetahBulletEnv-v0", "Walker2DBulletEnv-v0",
    ]  # fmt: skip
    video = page.locator("video").get_attribute("src")
    assert video == quote(f"runs/{NAME.replace('/', '|')}/video 1.mp4")
    assert [line for line in messages if "video" not in line] == []
    assert cli.main(["report", str(runs), "--embed", "--out", str(file)]) == 0
    assert "data:video/mp4;base64,bm8gdmlkZW8=" in file.read_text()


def test_what_is_damaged_is_left_out(browser, runs, tmp_path, capsys):
    bad = runs / "bad"
    write(bad, "E", "hgqn", 0, [1, float("nan"), 2], orders=[1])
    with (bad / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "eval", "return": 1}\n{"kind": "eval", "step": 40, "return": null}\n')
    (bad / "explain").mkdir()
    (bad / "explain" / "explain.json").write_text('{"names": 1, "sizes": 2, "shares": NaN}')
    (bad / "structure.json").write_text('{"sizes": [2], "changes": [{"step": -1}]}')
    write(runs / "worse", "E", "hgqn", 1, [1], orders=[1])
    (runs / "worse" / "metrics.jsonl").write_text("garbage\n")
    (runs / "worst").mkdir()
    (runs / "worst" / "config.json").write_text("{")
    file = tmp_path / "report.html"
    assert cli.main(["report", str(runs), "--out", str(file)]) == 0
    assert capsys.readouterr().err.count("skipped") == 5  # Lines of one, all of another, ...
    page, messages = opened(browser, f"file://{file}")
    page.get_by_role("combobox", name="Environment").select_option("E")
    page.wait_for_function("document.querySelector('#curves').dataset.points === '2'")
    assert page.get_by_role("combobox", name="Run", exact=True).locator("option").count() == 1
    assert [line for line in messages if "video" not in line] == []


def test_the_hypergraph_reacts_to_the_pointer(browser, runs, tmp_path):
    file = tmp_path / "report.html"
    assert cli.main(["report", str(runs), "--out", str(file)]) == 0
    page, _ = opened(browser, f"file://{file}")
    lines = page.locator("#hypergraph .mark-rule line")
    # Six pairs, and four sets of three with a line from each vertex to their middle.
    assert lines.count() == 6 + 4 * 3
    before = lines.evaluate_all("all => all.map((line) => line.getAttribute('opacity'))")
    assert set(before) == {"0.9"}
    lines.last.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "of the variance" in page.locator("#vg-tooltip-element").inner_text()
    after = lines.evaluate_all("all => all.map((line) => line.getAttribute('opacity'))")
    assert sorted(set(after)) == ["0.15", "0.9"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_on_a_phone(browser, runs, tmp_path, scheme):
    file = tmp_path / "report.html"
    assert cli.main(["report", str(runs), "--out", str(file)]) == 0
    page, _ = opened(browser, f"file://{file}", width=360, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 27)")
    assert page.evaluate("window.shifted") < 0.01  # Nothing jumps while it is drawn.


def status(address, host=None):
    try:
        request = urllib.request.Request(address, headers={"Host": host} if host else {})
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_watching_shows_what_is_new_and_nothing_else(browser, runs):
    command = [sys.executable, "-m", "hyperaction", "watch", str(runs), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        page, messages = opened(browser, address)
        assert page.locator("#curves").get_attribute("data-points") == "8"
        with (runs / "b" / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"kind": "eval", "step": 50, "return": 8.0}) + "\n")
        page.wait_for_function("document.querySelector('#curves').dataset.points === '9'")
        assert [line for line in messages if "video" not in line] == []
        for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "b/config.json", "video/9"):
            assert status(f"{address}{path}") == 404
        assert status(f"{address}video/0") == 200
        piece = urllib.request.Request(f"{address}video/0", headers={"Range": "bytes=3-5"})
        with urllib.request.urlopen(piece) as answer:
            assert (answer.status, answer.read()) == (206, b"vid")
        assert status(address, host="evil.example") == 403
    finally:
        process.terminate()
        process.communicate()
