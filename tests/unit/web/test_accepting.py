from __future__ import annotations

import pytest

from digest.web.feeds import prefers_page

_FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
_CHROME = f"{_FIREFOX},application/signed-exchange;v=b3;q=0.7"
_SIMPLEPIE = "application/atom+xml, application/rss+xml, text/xml;q=0.8, text/html;q=0.7, unknown/unknown;q=0.1"


@pytest.mark.parametrize("accept", [_FIREFOX, _CHROME, "text/html", "TEXT/HTML;Q=0.2, */*", "text/html; q=.9"])
def test_a_browser_is_shown_a_page(accept: str) -> None:
    assert prefers_page(accept)


@pytest.mark.parametrize(
    "accept",
    [
        *("", "*/*", "application/atom+xml", "application/json, */*;q=0.5", _SIMPLEPIE, "text/*"),
        "application/rss+xml, application/xml, text/html",
        "text/html;q=0.5, application/feed+json;q=0.9",
        ";,;",
    ],
)
def test_a_feed_reader_gets_the_feed(accept: str) -> None:
    assert not prefers_page(accept)
