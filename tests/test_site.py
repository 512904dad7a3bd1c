"""The site that `make docs` builds: without a network, and with a search that works."""

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import hyperaction
from hyperaction.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly from a copy of the pages: what is not in order fails the build."""
    pytest.importorskip("zensical")
    project = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "zensical.toml", project)
    shutil.copytree(ROOT / "docs", project / "docs")
    (project / "src").symlink_to(ROOT / "src")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=project,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "griffe:" not in done.stdout + done.stderr  # A docstring that cannot be read.
    return project / "site"


class Addresses(HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, page):
        super().__init__()
        self.links, self.loaded, self.ids = set(), set(), set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        elif tag in ("link", "script", "img", "iframe", "video", "source"):
            self.loaded |= {given[name] for name in ("href", "src") if given.get(name)}


@pytest.fixture(scope="module")
def pages(site):
    return {page: Addresses(page) for page in site.rglob("*.html") if page.name != "404.html"}


def test_every_link_of_the_site_leads_somewhere(site, pages):
    broken = []
    for page, addresses in pages.items():
        for address in addresses.links | addresses.loaded:
            parts = urlsplit(address)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            other = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            name = unquote(parts.fragment)
            if not other.is_file() or (name and other in pages and name not in pages[other].ids):
                broken.append(f"{page.relative_to(site)}: {address}")
    assert not broken


def test_pages_load_nothing_from_elsewhere(pages):
    loaded = {each for addresses in pages.values() for each in addresses.loaded}
    assert [each for each in loaded if urlsplit(each).scheme not in ("", "data")] == []


def test_the_reference_has_every_public_name(site, pages):
    reference = [pages[page].ids for page in pages if page.parent.name == "reference"]
    found = {name.rpartition(".")[2] for ids in reference for name in ids}
    assert set(hyperaction.__all__) - found == {"__version__"}


def test_the_reference_has_every_command_as_its_help_says_it(site, pages):
    page = site / "reference" / "commands.html"
    assert set(COMMANDS) <= pages[page].ids
    text = page.read_text()
    assert text.count("usage: hyperaction") >= len(COMMANDS)
    assert "--learning-starts" in text


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, site):
    """The front page, opened as a file; it may ask for files only, and have no errors."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    opened = context.new_page()
    asked, errors = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda each: each.type == "error" and errors.append(each.text))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto((site / "index.html").as_uri())
    yield opened
    context.close()
    assert errors == []
    assert [each for each in asked if not each.startswith(("file:", "data:", "about:"))] == []


def test_the_search_finds_a_page_and_opens_it_without_a_server(page):
    page.keyboard.press("Control+k")
    field = page.locator("dialog input").first
    field.fill("treewidth")
    first = page.locator("dialog a", has_text="treewidth").first
    first.wait_for()
    first.click()
    page.wait_for_url("**/speed-maximisation.html*")
    assert page.locator("h1").inner_text().startswith("Speed of maximisation")


def test_no_page_is_wider_than_a_phone(page, site):
    for name in ("index", "guides/training", "studies/physical", "reference/agents"):
        page.goto((site / f"{name}.html").as_uri())
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, name
