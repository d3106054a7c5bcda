"""Pages lead somewhere: each link to a file and a heading that exist, and the site to every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


def links(page: Path) -> list[tuple[Path, str]]:
    """File and anchor of each relative link of a page."""
    found = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return [((page.parent / path).resolve() if path else page, anchor) for path, anchor in found]


def anchors(page: Path) -> set[str]:
    """What a link can name: headings in lower case, hyphens for spaces, without punctuation."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for target, anchor in links(page):
        assert target.is_file(), target
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


def test_the_site_lists_every_page():
    listed = re.findall(r'= "(\S+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.relative_to(ROOT).as_posix() for page in PAGES)


def test_the_readme_leads_a_newcomer_on():
    """How to add a view, what every column means, how data flows, what the words mean."""
    led = {(target.relative_to(ROOT).as_posix(), anchor) for target, anchor in links(ROOT / "README.md")}
    pages = ["docs/data-dictionary.md", "docs/architecture.md", "docs/glossary.md"]
    assert {("CONTRIBUTING.md", "add-a-view")} | {(page, "") for page in pages} <= led
