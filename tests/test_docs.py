import re
from pathlib import Path

import pytest

from tests.strategies import HAS_KERNEL

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, capsys):
    """Python blocks of a page run in order; a text block is what the last one printed."""
    if page.name == "maximisation.md" and not HAS_KERNEL:
        pytest.skip("the page shows what the kernel plans")
    if page.name == "environments.md":
        pytest.importorskip("mpe2")
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
