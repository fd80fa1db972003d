"""Links of the documentation lead somewhere: to a file of the repository, and to a heading in it."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, page_name, pages, without_code

PAGES = pages("README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md", "examples/README.md", "docs")
_LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]*src=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*\]\([^`\n]*`", "", _FENCE.sub("", page.read_text(encoding="utf-8")))
    return [match.group(1) or match.group(2) for match in _LINK.finditer(text)]


def anchors(page: Path) -> set[str]:
    """List the anchors that headings get where such pages are shown: lower case, dashes, a second one with -1."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while anchor + (f"-{number}" if number else "") in found:
            number += 1
        found.add(anchor + (f"-{number}" if number else ""))
    return found


def problem(page: Path, link: str) -> str | None:
    if link.startswith(("https://", "http://", "mailto:")):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{link}: there is no such file"
    if not target.is_relative_to(ROOT):
        return f"{link}: outside the repository"
    if anchor and anchor not in anchors(target):
        return f"{link}: {page_name(target)} has no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [found for link in links(page) if (found := problem(page, link)) is not None] == []


@pytest.mark.parametrize("folder", ["tutorial", "how-to", "reference", "explanation"])
def test_every_page_can_be_reached_from_the_index(folder: str) -> None:
    index = ROOT / "docs/index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    decisions = ROOT / "docs/explanation/decisions"
    there = [page for page in pages(f"docs/{folder}") if page.parent != decisions]
    assert [page_name(page) for page in there if page not in linked] == []


def test_every_decision_is_listed() -> None:
    listing = ROOT / "docs/explanation/decisions/README.md"
    linked = {(listing.parent / link).resolve() for link in links(listing)}
    assert [page_name(page) for page in pages("docs/explanation/decisions") if page not in {listing, *linked}] == []


def test_text_without_code_keeps_what_is_said() -> None:
    assert without_code("a `b` c\n```sh\nd\n```\ne") == "a  c\n\ne"
