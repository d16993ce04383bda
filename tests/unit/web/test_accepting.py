"""Who gets a page at the address of a feed.

Browsers. Each Accept field is that of a real program.
"""

from __future__ import annotations

import pytest

from digest.web.feeds import prefers_page

BROWSERS = {
    "Firefox 132": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Firefox 120": (
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
    ),
    "Chrome": "text/html,application/xhtml+xml,application/xml;q=0.9,"
    "image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7",
    "Safari": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Edge 18": "text/html, application/xhtml+xml, application/xml; q=0.9, */*; q=0.8",
    "Internet Explorer 11": "text/html, application/xhtml+xml, */*",
    "Opera 12": "text/html, application/xml;q=0.9, application/xhtml+xml, "
    "image/png, image/webp, */*;q=0.1",
    "Lynx": "text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01",
}

PROGRAMS = {
    "nothing at all: Go, aiohttp's bare client, old wget": "",
    "curl, wget, requests, httpx, node-fetch, Outlook, Inoreader": "*/*",
    "Java's HttpURLConnection": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
    "Java, newer": "text/html, image/gif, image/jpeg, */*; q=0.2",
    "urllib with a page in mind": "text/html",
    "a fetcher of pages": "text/html;q=0.9,*/*;q=0.8",
    "in capitals": "TEXT/HTML;Q=0.2, */*",
    "axios": "application/json, text/plain, */*",
    "R's httr": "application/json, text/xml, application/xml, */*",
    "w3m": "text/html, text/*;q=0.5, image/*, application/*",
    "QuiteRSS 0.16": "text/xml, text/html, */*",
    "QuiteRSS": (
        "application/atom+xml,application/rss+xml;q=0.9,application/xml;q=0.8,"
        "text/xml;q=0.7,*/*;q=0.6"
    ),
    "feedparser": "application/atom+xml,application/rdf+xml,application/rss+xml,"
    "application/x-netcdf,"
    "application/xml;q=0.9,text/xml;q=0.2,*/*;q=0.1",
    "SimplePie, FreshRSS": "application/atom+xml, application/rss+xml, application/rdf+xml;q=0.9,"
    " application/xml;q=0.8, text/xml;q=0.8, text/html;q=0.7,"
    " unknown/unknown;q=0.1, application/unknown;q=0.1,"
    " */*;q=0.1",
    "Miniflux": "application/xml, application/atom+xml, application/rss+xml, application/rdf+xml,"
    " application/feed+json, text/html, */*;q=0.9",
    "Thunderbird": "application/atom+xml,application/rss+xml;q=0.9,application/rdf+xml;q=0.8,"
    "application/xml;q=0.7,text/xml;q=0.7,*/*;q=0.1",
    "Nextcloud News": "application/rss+xml, application/rdf+xml;q=0.8, application/atom+xml;q=0.6,"
    " application/xml;q=0.4, text/xml;q=0.4, */*;q=0.2",
    "Feedly": "application/rss+xml, application/xml, text/html",
    "a script that asks for both": (
        "text/html,application/atom+xml,application/rss+xml;q=0.9,*/*;q=0.5"
    ),
    "Liferea": "application/atom+xml,application/xml;q=0.9,text/xml;q=0.8,*/*;q=0.7",
    "JSON Feed": "text/html;q=0.5, application/feed+json;q=0.9",
    "all texts": "text/*",
    "no field at all": ";,;",
}


@pytest.mark.parametrize("who", BROWSERS)
def test_a_browser_is_shown_a_page(who: str) -> None:
    assert prefers_page(BROWSERS[who])


@pytest.mark.parametrize("who", PROGRAMS)
def test_whatever_is_not_surely_a_browser_gets_the_feed(who: str) -> None:
    assert not prefers_page(PROGRAMS[who])
