"""The checklist of security, one test each.

What must hold for every address there is or will be.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import re
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import chain
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

import digest.deliver
import digest.web
from digest.model.destinations import Destination
from digest.store import outbox, schema
from digest.store.outbox import KEPT_DAYS
from digest.web import create_app
from digest.web.guards import BODY_LIMIT
from tests.harness.serving import find_routes, serve_site, wait_until
from tests.integration.web.conftest import ORIGIN, ServedSite, read_fields
from tests.integration.web.world import PAPERS, READER

UNKNOWN = ("AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB", "x", "%ff%00")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EVIL = "https://evil.example"
_OTHER = "null https://localhost:8000.evil.example https://localhost https://localhost:8001 http://localhost:8000"
ORIGINS = (None, "", EVIL, *_OTHER.split(" "), ORIGIN.upper(), f"{ORIGIN}/", f"{ORIGIN} {EVIL}")
OUR_HOSTS = ("localhost:8000", "LOCALHOST", "127.0.0.1:1", "[::1]:8000")
_STRANGE = (
    "evil.example localhost.evil.example localhost:8000@evil.example localhost. ::1 localhost:x"
)
HOSTS = (*OUR_HOSTS, *_STRANGE.split(" "), "")


def tokens(served: ServedSite) -> dict[str, str]:
    """Return a token of each purpose, by the address that it opens."""
    reader = Destination.parse(READER)
    return {
        "u": served.links.unsubscribe_token(reader, "perf-team"),
        "d": served.links.web_token("perf-team", "run:2"),
        "f": served.links.feed_token("perf-team", 0),
        "p": served.links.preferences_token(reader),
        "a": served.links.archive_token("perf-team"),
    }


def secret_paths(served: ServedSite, token: str, but: str = "") -> Iterator[str]:
    """Return the addresses at which a token is tried.

    All that begin with one letter, but those of a letter.
    """
    for route in find_routes(create_app(served.site)):
        if re.match(r"/\w/\{", route.path) and route.path[1] != but:
            yield route.path.replace("{token}", token).replace("{name}", f"{token}.atom")


def all_paths(served: ServedSite) -> list[str]:
    """Return every address, with right tokens and with none, and some that there are not."""
    known = tokens(served)
    paths = [
        "/nothing",
        "/u/",
        "/metrics",
        "/.//evil.example",
        "/u/x/",
        f"/refs/{PAPERS[0].id}.bib",
    ]
    for route in find_routes(create_app(served.site)):
        pair = (known.get(route.path[1:2], UNKNOWN[0]), UNKNOWN[0])
        paths += [
            route.path.replace("{token}", one).replace("{name}", f"{one}.atom").split("{")[0]
            for one in pair
        ]
    return list(dict.fromkeys(paths))


def ask_all(served: ServedSite) -> Iterator[httpx.Response]:
    """Ask every address in every way, and bring about every kind of error."""
    for path in all_paths(served):
        for method in METHODS:
            yield served.http.request(method, path)
    unsubscribe = f"/u/{tokens(served)['u']}"
    yield served.http.get("/", headers={"Host": "evil.example"})
    yield served.http.post(unsubscribe, content=bytes(BODY_LIMIT + 1))
    yield served.http.post(unsubscribe, content=b"a=%00", headers=FORM)
    yield served.http.post("/nothing", content=b"a=1", headers=FORM)


def dump(served: ServedSite) -> list[str]:
    with closing(sqlite3.connect(served.world.folder / "digest.db")) as connection:
        return list(connection.iterdump())


def open_page(served: ServedSite, reader: str = READER) -> httpx.Response:
    """Open a page with a form: that by which somebody unsubscribes."""
    return served.http.get(
        f"/u/{served.links.unsubscribe_token(Destination.parse(reader), 'perf-team')}"
    )


# Other sites' forms (CSRF)


def test_a_form_of_another_origin_changes_nothing(served: ServedSite) -> None:
    page = open_page(served)
    before = dump(served)
    for origin in ORIGINS:
        answer = served.press(page, origin=origin)
        assert (answer.status_code, f"Open the page again at {ORIGIN}" in answer.text) == (
            403,
            True,
        ), origin
    both = httpx.Headers([("Origin", ORIGIN), ("Origin", EVIL)])
    assert served.http.post(page.url, data=read_fields(page), headers=both).status_code == 403
    assert dump(served) == before
    assert served.press(page).status_code == 200


def test_a_form_without_the_token_of_its_own_page_changes_nothing(served: ServedSite) -> None:
    page = open_page(served)
    before = dump(served)
    other = read_fields(open_page(served, "mailto:second@example.org"))["token"]
    for token in (
        "",
        "é",
        *UNKNOWN,
        tokens(served)["u"],
        other,
        read_fields(page)["token"].swapcase(),
    ):
        assert served.press(page, token=token).status_code == 403, token
    assert dump(served) == before


def test_a_page_is_good_until_the_end_of_the_next_day(served: ServedSite) -> None:
    page = open_page(served)
    now = served.world.clock.now()
    end = now.replace(hour=0, minute=0) + timedelta(days=2)
    served.world.clock.sleep((end - now).total_seconds() - 60)
    assert served.press(page, answer="undo").status_code == 200
    served.world.clock.sleep(61)
    assert served.press(page, answer="undo").status_code == 403


def test_without_a_public_address_no_form_is_taken(served: ServedSite) -> None:
    page = open_page(served)
    file = served.world.folder / "digest.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace(f'base_url = "{ORIGIN}"\n', ""), encoding="utf-8"
    )
    with closing(served.world.open()) as site, serve_site(site) as url:
        assert served.http.get(url, headers={"Host": "anything.example"}).status_code == 200
        headers = {"Origin": ORIGIN}
        answer = served.http.post(url + page.url.path, data=read_fields(page), headers=headers)
    assert (answer.status_code, "has to set web.base_url" in answer.text) == (403, True)


# Names, bodies, tokens


@pytest.mark.parametrize("host", HOSTS)
def test_only_names_of_ours_are_answered(shared: ServedSite, host: str) -> None:
    answer = shared.http.get("/stored", headers={"Host": host})
    assert answer.status_code == (200 if host in OUR_HOSTS else 400)
    assert "evil" not in answer.text
    assert [shared.http.get(path, headers={"Host": host}).json() for path in ("/livez", "/readyz")]


@pytest.mark.parametrize("is_chunked", [True, False])
def test_no_address_reads_a_body_beyond_the_limit(shared: ServedSite, *, is_chunked: bool) -> None:
    pieces = [b"a" * 4096] * (BODY_LIMIT // 4096 + 1)
    for path in all_paths(shared):
        content = iter(pieces) if is_chunked else b"".join(pieces)
        assert shared.http.post(path, content=content, headers=FORM).status_code == 413, path


def test_the_database_holds_no_token_once_the_mails_themselves_are_deleted(
    served: ServedSite,
) -> None:
    outbox.delete_expired(
        served.site.store,
        served.world.clock.now() + timedelta(days=KEPT_DAYS["rendered bytes"], hours=1),
    )
    with served.site.store.read() as conn:
        tables = [
            conn.execute(select(table)).all() for table in schema.papers.metadata.sorted_tables
        ]
    rows = [
        b" ".join(x if isinstance(x, bytes) else str(x).encode() for x in row)
        for row in chain(*tables)
    ]
    assert len(rows) > 50
    for purpose, token in tokens(served).items():
        assert not [row for row in rows if token.encode() in row]
        is_hashed = any(hashlib.sha256(token.encode()).hexdigest().encode() in row for row in rows)
        assert is_hashed == (purpose != "f"), "a feed's hash is made anew"


@pytest.mark.parametrize("purpose", ["u", "d", "f", "p", "a"])
def test_a_token_opens_what_it_was_made_for_and_nothing_else(
    shared: ServedSite, purpose: str
) -> None:
    token = tokens(shared)[purpose]
    paths = list(secret_paths(shared, token, but=purpose))
    assert len(paths) >= 2
    assert {path: shared.http.get(path).status_code for path in paths} == dict.fromkeys(paths, 404)


def test_an_unknown_token_is_answered_with_the_same_bytes_everywhere(shared: ServedSite) -> None:
    answers = [shared.http.get(path) for token in UNKNOWN for path in secret_paths(shared, token)]
    assert {answer.status_code for answer in answers} == {404}
    contents = {(answer.url.path[:3], answer.content) for answer in answers}
    assert len(contents) == len({path for path, _ in contents}), (
        "a mail's link that is over says how to ask again"
    )
    assert {content for path, content in contents if path not in {"/c/", "/p/", "/k/"}} == {
        shared.http.get("/nothing").content
    }


SECRET_NAMES = re.compile(r"token|secret|signature|\bmac\b", re.IGNORECASE)


def test_no_secret_is_compared_but_in_constant_time() -> None:
    found = []
    for folder in (*digest.web.__path__, *digest.deliver.__path__):
        for path in Path(folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                    sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
                    found += [
                        f"{path}:{node.lineno}" for side in sides if SECRET_NAMES.search(side)
                    ]
    assert not found


# What every answer holds, and what no log does


def test_no_answer_sends_anybody_elsewhere(served: ServedSite) -> None:
    for path in all_paths(served):
        for method in METHODS:
            for query in ("", f"?next={EVIL}&url=//evil.example&q={EVIL}"):
                answer = served.http.request(method, path + query, headers={"Referer": EVIL})
                assert not answer.is_redirect, path
                assert not {"location", "set-cookie"} & set(answer.headers)
                assert not re.search(r'href="(https:)?//evil', answer.text)


def test_every_answer_carries_one_strict_policy(served: ServedSite) -> None:
    style = served.site.renderer.web_style_hash()
    policy = (
        f"default-src 'none'; style-src {style}; script-src 'self'; "
        "img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    statuses = set()
    for answer in ask_all(served):
        assert answer.headers.get_list("content-security-policy") == [policy], answer.request.url
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-robots-tag"] == "noindex"
        assert "server" not in answer.headers
        is_public = "etag" in answer.headers and not re.match(
            r"/[a-eg-z]/", answer.request.url.path
        )
        assert is_public or answer.headers["cache-control"] == "no-store"
        statuses.add(answer.status_code)
    assert statuses >= {200, 400, 403, 404, 405, 413}


def test_no_page_holds_what_the_policy_forbids(served: ServedSite) -> None:
    style = served.site.renderer.web_style_hash().strip("'")
    pages = [
        answer.text
        for answer in ask_all(served)
        if "text/html" in answer.headers.get("content-type", "")
    ]
    assert len(pages) > 20
    for page in filter(None, pages):
        if not page.startswith("<!doctype"):  # the live part, which a page of ours takes in
            assert not re.search(r"<(?:style|script|meta|link)|\s(?:style|on\w+)\s*=", page)
            continue
        (block,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        assert f"sha256-{b64encode(hashlib.sha256(block.encode()).digest()).decode()}" == style
        body = page.replace(block, "")
        assert not re.search(r"<[^>]+\s(?:style|on\w+)\s*=", body)
        assert not re.search(
            r"<script(?![^>]*\ssrc=)|javascript:|<(?:iframe|object|embed|base)\b", body
        )
        assert '<meta name="referrer" content="same-origin">' in body


def test_no_visit_changes_anything(served: ServedSite) -> None:
    before = dump(served)
    failed = {answer.request.url.path for answer in ask_all(served) if answer.status_code >= 500}
    assert failed == {"/readyz"}, "no scheduler runs here"
    assert (dump(served), len(before) > 50) == (before, True)


def test_no_log_holds_a_token_an_address_or_what_was_searched_for(
    served: ServedSite, caplog: pytest.LogCaptureFixture
) -> None:
    searched = "secretive-search-words"
    with (
        caplog.at_level(logging.DEBUG),
        closing(served.world.open()) as site,
        serve_site(site) as url,
    ):
        served.http = httpx.Client(base_url=url)
        for path in all_paths(served):
            for method in ("GET", "POST"):
                served.http.request(method, f"{path}?q={searched}&was={searched}")
        page = open_page(served)
        served.press(page)
        served.press(page, answer="undo")
        served.http.close()
        asked = 2 * len(all_paths(served)) + 3
        wait_until(lambda: sum(record.name == "digest.web" for record in caplog.records) >= asked)
    ours = [
        record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))
    ]
    told = "\n".join(f"{record.getMessage()} {vars(record)}" for record in ours)
    assert len(ours) > 30
    for secret in (*tokens(served).values(), searched, "reader@example.org"):
        assert secret not in told
