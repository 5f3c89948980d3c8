# SPDX-License-Identifier: Apache-2.0
"""The documents' site in Chromium: the search finds pages, a phone scrolls no page sideways, light
and dark.

PEER_PICTURES=FOLDER keeps pictures of it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from box import IMAGE, docker
from page import Page

HTML = Path(__file__).parents[2] / "build" / "site" / "html"
URL = "http://localhost:8000"
PHONE = (390, 844)
RESULTS = (
    "[...new Set([...document.querySelectorAll('.md-search-result__item a')]"
    ".map((a) => new URL(a.href).pathname.slice(1)))]"
)
LOADED = "document.readyState === 'complete' && Boolean(document.body.dataset.mdColorScheme)"
SEARCHES = {  # what a reader types: a page among the first three
    "approve": "approvals.html",
    "sandbox allowedDomains": "sandbox-settings.html",
    "helm": "kubernetes.html",
    "install_package": "packages.html",
    "librechat": "librechat.html",
}
FIRST = 3
PAGES = ("index.html", "http-api.html", "librechat.html", "beside.html", "options.html")
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# Text whose colour is nearer to its block's than WCAG's 4.5.
PALE = """(() => {
  const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255, 255];
  };
  const pale = [];
  const text = 'article p, article pre span, article td code, article a';
  for (const e of document.querySelectorAll(text)) {
    if (!e.innerText?.trim() || !e.checkVisibility()) continue;
    const ink = rgb(getComputedStyle(e).color), under = ground(e), share = ink[3] / 255;
    const mixed = ink.slice(0, 3).map((v, i) => v * share + under[i] * (1 - share));
    const [a, b] = [light(mixed), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) pale.push(`${e.className || e.tagName} ${ratio.toFixed(1)}`);
  }
  return [...new Set(pale)];
})()"""


@pytest.fixture
def page() -> Iterator[Page]:
    assert HTML.is_dir(), "site/build makes it"
    serve = ("-m", "http.server", "-d", "/site", "8000")
    server = docker(
        *("run", "-d", "-v", f"{HTML}:/site:ro", "--entrypoint", "python3", IMAGE, *serve)
    ).strip()
    page = Page(server)
    try:
        yield page
    finally:
        page.close()
        docker("rm", "-f", "-v", server)


def picture(page: Page, name: str, size: tuple[int, int], scheme: str) -> None:
    png = base64.b64decode(page.do("picture", width=size[0], height=size[1], scheme=scheme))
    if folder := os.environ.get("PEER_PICTURES"):
        Path(folder, f"{name}-{size[0]}-{scheme}.png").write_bytes(png)


def test_what_a_reader_types_finds_its_page(page: Page) -> None:
    for words, wanted in SEARCHES.items():
        page.do("open", url=f"{URL}/index.html?q={words.replace(' ', '+')}")
        page.wait(f"{RESULTS}.slice(0, {FIRST}).includes('{wanted}')")
        picture(page, f"search-{wanted[:-5]}", PHONE, "light")


def test_a_search_by_keys_leads_to_the_words(page: Page) -> None:
    page.do("open", url=f"{URL}/index.html")
    page.wait(LOADED)
    page.run("document.querySelector('.md-search__input').focus()")
    page.do("type", text="librechat")
    page.wait(f"{RESULTS}[0] === 'librechat.html'")
    page.run("document.querySelector('.md-search-result__item a').click()")
    page.wait("location.pathname === '/librechat.html'")
    page.wait("document.querySelectorAll('article mark').length > 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_every_page_without_scrolling_sideways(page: Page, scheme: str) -> None:
    wanted, other = {"light": ("default", "dark"), "dark": ("slate", "light")}[scheme]
    for name in PAGES:
        picture(page, name[:-5], PHONE, other)
        page.do("open", url=f"{URL}/{name}")
        page.wait(LOADED)
        picture(page, name[:-5], PHONE, scheme)  # an open page follows the system
        page.wait(f"document.body.dataset.mdColorScheme === '{wanted}'")
        assert not page.run(SIDEWAYS), name
        assert page.run(PALE) == [], name
    assert page.do("errors") == []
