"""The pages of the documentation as written: their code runs, their links lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.strategies import HAS_KERNEL

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_CODE = [page for page in PAGES if "```python" in page.read_text()]


def name_of(page):
    return str(page.relative_to(ROOT).with_suffix(""))


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, capsys, tmp_path, monkeypatch):
    """Python blocks of a page run in order; a text block is what the last one printed."""
    if page.name == "maximisation.md" and not HAS_KERNEL:
        pytest.skip("the page shows what the kernel plans")
    if page.name == "environments.md":
        pytest.importorskip("mpe2")
    monkeypatch.chdir(tmp_path)  # Pages may write files.
    if page.name == "pytorch.md":
        pytest.importorskip("torch")
    names: dict[str, object] = {}
    fences = FENCE.findall(page.read_text())
    for number, (language, body) in enumerate(fences):
        if language == "python":
            capsys.readouterr()
            exec(compile(body, f"{page.name}, block {number}", "exec"), names)
        elif language == "text" and number and fences[number - 1][0] == "python":
            assert capsys.readouterr().out.rstrip() == body.rstrip()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if target.startswith("http"):
            continue
        other = page.parent / target if target else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", other.read_text(), re.MULTILINE)
            names = [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]
            assert anchor in names, f"{target}#{anchor}"


def test_every_page_is_in_the_navigation_once():
    nav = re.findall(r'= "([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text())
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES if "docs" in page.parts]
    reserved = re.findall(r'^ +# .* = "([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text(), re.M)
    assert sorted(set(nav) - set(reserved)) == pages
    assert len(nav) == len(set(nav))
