"""The page about runs, in a real browser."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import imageio_ffmpeg
import numpy as np
import pytest

from hyperaction import Hypergraph, cli
from hyperaction.analysis.explain import Explanation
from hyperaction.analysis.rollout import Rollout
from hyperaction.cli.report import PageData
from hyperaction.runs.files import write_arrays
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
    explanation.add(Rollout(outputs, np.zeros((5, 4), int), *np.zeros((4, 5))))
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
    assert page.locator("h1").inner_text() == "3 agents on 2 environments"
    assert page.locator("#about").inner_text() == "8 runs, 3 seeds, all complete."
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
    assert page.locator("#explanation option").count() == 1
    assert [line for line in messages if "video" not in line] == []


def test_the_hypergraph_is_square_and_reacts_to_pointer_and_keys(browser, runs, tmp_path):
    file = tmp_path / "report.html"
    assert cli.main(["report", str(runs), "--out", str(file)]) == 0
    page, _ = opened(browser, f"file://{file}")
    lines, regions = page.locator("#hypergraph line"), page.locator("#hypergraph path")
    assert (lines.count(), regions.count()) == (6, 4)  # Pairs are lines, sets of three regions.
    middle = [circle.bounding_box() for circle in page.locator("#hypergraph circle").all()]
    wide, high = (max(box[k] for box in middle) - min(box[k] for box in middle) for k in "xy")
    assert abs(wide - high) < 20  # But for the sizes of the vertices.
    readout = page.locator("#hypergraph-readout")
    lines.last.hover(force=True)
    assert "of the variance" in readout.inner_text()
    after = lines.evaluate_all("all => all.map((line) => line.getAttribute('opacity'))")
    assert sorted(set(after)) == ["0.15", "1"]
    page.locator("#hypergraph svg").focus()
    page.keyboard.press("ArrowRight")  # The one that explains most.
    first = readout.inner_text()
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() != first
    shares = [float(text.split(", ")[-2].split("%")[0]) for text in (first, readout.inner_text())]
    assert shares[0] >= shares[1]
    page.get_by_role("combobox", name="Hyperedges").select_option("order 3")
    assert (lines.count(), regions.count()) == (0, 4)


@pytest.fixture
def one_run(tmp_path):
    """A run of two phases, with times and a film."""
    out = tmp_path / "solo"
    write(out, "E", "bdqn", 7, [])
    rows = [
        {"kind": "train", "step": 100, "episodes": 4, "return": 2.0, "epsilon": 1.0,
         "steps_per_second": 50.0},
        {"kind": "eval", "step": 100, "return": 3.0},
        {"kind": "train", "step": 200, "episodes": 4, "return": 4.0, "epsilon": 0.5, "loss": 0.1,
         "steps_per_second": 10.0},
        {"kind": "eval", "step": 200, "return": 9.0},
    ]  # fmt: skip
    (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    film = imageio_ffmpeg.write_frames(out / "film.mp4", (64, 48), fps=5, quality=3)
    with warnings.catch_warnings():  # JAX warns of forking; the child becomes ffmpeg at once.
        warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
        film.send(None)
    for shade in (40, 120, 200):
        film.send(np.full((48, 64, 3), shade, np.uint8).tobytes())
    film.close()
    return out


def test_one_run_has_only_sections_that_say_something(browser, one_run, tmp_path):
    file = tmp_path / "report.html"
    assert cli.main(["report", str(one_run), "--out", str(file)]) == 0
    page, messages = opened(browser, f"file://{file}")
    assert page.locator("h1").inner_text() == "bdqn on E"
    assert page.locator("#about").inner_text() == "1 run, seed 7, complete."
    cards = page.locator(".card").all_inner_texts()
    assert cards[0].split("\n\n") == [
        "Final return", "9", "last evaluation", "random actions (4 episodes): 2",
    ]  # fmt: skip
    assert cards[3].split("\n\n")[:2] == ["Training time", "12 s"]  # 100 / 50 + 100 / 10.
    assert page.locator("table:visible").count() == 0
    assert page.get_by_role("combobox", name="Environment").count() == 0
    headings = page.locator("h2:visible").all_inner_texts()
    assert headings == ["Learning curves", "Video", "Commands", "Settings"]
    assert page.locator("video").get_attribute("poster").startswith("data:image/jpeg;base64,")
    assert page.locator("#commands code").first.inner_text().startswith("hyperaction evaluate ")
    assert messages == []


def test_hyperedges_are_drawn_without_an_explanation_where_they_join_vertices(tmp_path):
    for rank in (1, 2):
        out = tmp_path / f"rank{rank}"
        write(out, "E", "hgqn", 0, [1], orders=[1, 2][:rank])
        actions = {"kind": "Direct", "sizes": [2, 3], "names": ["saw", "drill"]}
        write_arrays(out / "agent.safetensors", {"x": np.zeros(1)}, {"actions": actions})
    (shown,) = PageData([tmp_path], 10)()[0]["explanations"]
    assert (shown["run"], shown["names"], shown["shares"]) == ("rank2", ["saw", "drill"], [])
    assert [row["edge"] for row in shown["representation"]] == [[0], [1], [0, 1]]


def saved(page, name):
    """The content of the file that a button saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_curves_are_over_steps_or_time_and_saved_as_files(browser, one_run, tmp_path):
    other = {"published <b>": {"steps": [100, 200], "returns": [1, 6]}}
    (one_run / "baselines.json").write_text(json.dumps({"constant <b>": 5.5, "E": other}))
    file = tmp_path / "report.html"
    assert cli.main(["report", str(one_run), "--baseline", "PPO=7", "--out", str(file)]) == 0
    page, messages = opened(browser, f"file://{file}")
    drawn = page.locator("#curves svg")
    assert page.locator("#curves").get_attribute("data-baselines") == "4"
    for name in ("PPO", "constant <b>", "published <b>", "random actions (4 episodes)"):
        assert name in drawn.text_content()
        assert page.get_by_role("checkbox", name=name).is_checked()
    page.get_by_role("checkbox", name="PPO").press("Space")
    page.wait_for_function("document.querySelector('#curves').dataset.baselines === '3'")
    page.get_by_role("radio", name="time").check()
    page.wait_for_function("document.querySelector('#curves').dataset.baselines === '2'")
    assert "training time (seconds)" in drawn.text_content()
    name, content = saved(page, "as CSV")
    assert name == "E-return.csv"
    assert content.decode().splitlines() == [
        "run,agent,seed,seconds,return", "solo,bdqn,7,2,3", "solo,bdqn,7,12,9",
    ]  # fmt: skip
    name, content = saved(page, "learning curves as SVG")
    root = ElementTree.fromstring(content)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "constant <b>" in "".join(root.itertext())
    assert saved(page, "learning curves as PNG")[1].startswith(b"\x89PNG")
    page.get_by_role("combobox", name="Show").select_option("loss")
    page.wait_for_function("document.querySelector('#curves').dataset.points === '1'")
    assert messages == []


def test_baselines_that_are_no_numbers_are_refused(one_run, tmp_path, capsys):
    file = tmp_path / "report.html"
    for wrong in ("PPO", "PPO=", "=3", "PPO=nan", "PPO=high"):
        assert cli.main(["report", str(one_run), "--baseline", wrong, "--out", str(file)]) == 2
        assert "--baseline must be NAME=RETURN" in capsys.readouterr().err
    for content in ("[1]", '{"a": "b"}', '{"E": {"a": null}}', '{"a": {"steps": [2, 1]}}', "{"):
        (one_run / "baselines.json").write_text(content)
        page = PageData([one_run], 10)
        shown = [line["name"] for line in page()[0]["baselines"]]
        assert shown == ["random actions (4 episodes)"]
        assert "baselines.json is damaged" in page.problems[0]


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
