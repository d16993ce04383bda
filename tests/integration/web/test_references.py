"""A stored paper for a reference manager: at an address that is no secret, and changes nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import httpx
import pytest
from pybtex.database import parse_string

from digest.serve.steps import run_pass
from tests.harness.serving import serve_site
from tests.integration.web.conftest import ServedSite
from tests.integration.web.world import PAPERS, live_in

ID = PAPERS[0].id


def test_a_paper_is_served_as_bibtex(shared: ServedSite) -> None:
    answer = shared.http.get(f"/refs/{ID}.bib")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/x-bibtex; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="Example2026-{ID}.bib"'
    (entry,) = parse_string(answer.text, "bibtex").entries.values()
    assert (entry.fields["eprint"], entry.fields["abstract"]) == (ID, PAPERS[0].abstract)


@pytest.mark.parametrize(
    "name",
    [
        "2611.99999.bib",
        f"{ID}",
        f"{ID}.txt",
        f"{ID}v1.bib",
        f"arXiv:{ID}.bib",
        "x.ris",
        ".bib",
        f"{ID}.bib/",
        "../x.bib",
    ],
)
def test_what_is_no_stored_paper_is_not_found(shared: ServedSite, name: str) -> None:
    assert shared.http.get(f"/refs/{name}").status_code == 404


def test_where_only_matches_are_stored_nobody_can_ask_what_is(tmp_path: Path) -> None:
    with live_in(tmp_path) as world:
        world.write_config(extra="")
        path = tmp_path / "digest.toml"
        path.write_text(path.read_text().replace("[arxiv]\n", '[arxiv]\nsource = "query"\n'))
        with closing(world.open()) as site:
            run_pass(site)
            with serve_site(site) as url:
                assert httpx.get(f"{url}/refs/{ID}.bib").status_code == 404
                token = world.links(site).feed_token("perf-team", 0)
                feed = httpx.get(f"{url}/f/{token}.atom").text
            assert ID in feed
            assert "/refs" not in feed
