"""Folders that are sites.

Written by real runs, whole without a server, and made again from the database alone.
"""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from html import unescape
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import update

from digest.deliver.transports.file import FolderTransport
from digest.model.destinations import Destination
from digest.model.messages import DeliveryState, Message
from digest.render.renderer import name_page
from digest.serve.steps import run_pass
from digest.store import schema
from tests.integration.web.world import LATER, PAPERS, SUNDAY, World

SITE = ("file:site/",)
GPU = (
    '\n[[subscriptions]]\nname = "gpu"\ntitle = "GPUs <b>"\nfollow = ["{}"]\nto = "file:./site/"\n'
)


def read_site(world: World) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((world.folder / "site").iterdir())}


def list_pages(world: World) -> list[str]:
    return [name for name in read_site(world) if re.match(r"\d|run|new", name)]


def forget_server(world: World) -> None:
    path = world.folder / "digest.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('base_url = "https://localhost:8000"\n', ""),
        "utf-8",
    )


def live_on(world: World) -> None:
    """Let three days pass, and a paper come."""
    world.arxiv.add(LATER)
    world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())


def check_links(folder: Path) -> int:
    """Assert that pages load nothing and lead to what is there, or to arXiv.

    Count the links within.
    """
    found = 0
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]* src=|@import|url\(", text)
        for tag, address in re.findall(r'<(\w+)[^>]* href="([^"]*)"', text):
            target, _, place = unescape(address).partition("#")
            if target.startswith("https://arxiv.org/") and tag == "a":
                continue
            if tag == "link" and target.startswith("data:"):
                continue
            found += 1
            there = (folder / target).read_text(encoding="utf-8")
            assert not place or f'id="{place}"' in there, address
    return found


def test_a_run_writes_a_whole_site_that_says_nothing_of_readers(world: World) -> None:
    world.write_config(to=("mailto:reader@example.org", *SITE))
    forget_server(world)
    done = world.call("run")
    assert (done.returncode, "2 feed files, 3 pages written" in done.stdout) == (0, True), done
    (page,) = list_pages(world)
    assert [*read_site(world)] == ["feed.atom", "feed.json", "index.html", page, "titles.js"]
    assert check_links(world.folder / "site") == 3 + 2 + 4 + 2 + 2
    whole = b"".join(read_site(world).values()).decode()
    assert all(paper.title.replace("&", "&amp;") in whole for paper in PAPERS)
    assert not re.findall(r"reader@|localhost|/[dauflpk]/[\w-]{8}|ops@", whole)


def test_a_later_digest_changes_what_leads_to_it_alone_and_nothing_new_changes_nothing(
    world: World,
) -> None:
    world.write_config(to=SITE)
    world.call("run")
    first = read_site(world)
    (before,) = list_pages(world)
    assert "written" not in world.call("run").stdout
    live_on(world)
    world.call("run", "--now")
    after = read_site(world)
    (later,) = {*list_pages(world)} - {before}
    assert f'<a href="{later}" rel="next">' in after[before].decode()
    assert f'<a href="{before}" rel="prev">' in after[later].decode()
    assert [name for name, body in first.items() if after[name] == body] == []
    for name in ("titles.js", "index.html"):
        text = after[name].decode()
        assert text.count(LATER.title) == 1
    times = {name: (world.folder / "site" / name).stat().st_mtime_ns for name in after}
    assert "Nothing new to send." in world.call("run", "--now").stdout
    assert {name: (world.folder / "site" / name).stat().st_mtime_ns for name in after} == times


def test_a_site_is_made_again_from_the_database_alone_wherever_its_folder_lies(
    world: World,
) -> None:
    world.write_config(to=SITE)
    world.call("run")
    live_on(world)
    world.call("run", "--now")
    there = read_site(world)
    other = world.folder.with_name("other")
    shutil.copytree(world.folder, other, ignore=shutil.ignore_patterns("site"))
    shutil.rmtree(world.folder / "site")
    world.call("run")
    assert read_site(world) == there
    world.folder = other
    assert "0 digests" not in (said := world.call("run").stdout)
    assert "planned" not in said
    assert read_site(world) == there


@pytest.mark.parametrize("text", ["<title>My pages</title>\n", ""])
@pytest.mark.parametrize("name", ["index.html", "feed.atom", "feed.json", "titles.js"])
def test_a_file_of_somebody_else_is_never_written_over(world: World, name: str, text: str) -> None:
    world.write_config(to=SITE)
    path = world.folder / "site" / name
    path.parent.mkdir()
    path.write_text(text)
    done = world.call("run")
    assert (done.returncode, f"{name} is not of Digest" in done.stderr) == (4, True)
    assert path.read_text() == text
    assert name != "index.html" or list_pages(world) == []
    path.unlink()
    world.clock.sleep(3_600)
    assert world.call("run").returncode == 0
    assert len(read_site(world)) == 5


@pytest.mark.parametrize("text", ["<feed>of mine</feed>", '{"name": "mine"}', ""])
@pytest.mark.parametrize("name", ["gpu.atom", "GPU.XML", "gpu.json"])
def test_nor_is_a_feed_or_another_file_of_a_feeds_name(world: World, name: str, text: str) -> None:
    world.write_config(to=(f"file:out/{name}",))
    path = world.folder / "out" / name
    path.parent.mkdir()
    path.write_text(text)
    (path.parent / "index.html").write_text("<title>My pages</title>\n")
    done = world.call("run")
    assert (done.returncode, f"{name} is not of Digest" in done.stderr) == (4, True)
    assert path.read_text() == text
    path.unlink()
    for size in (1, 2):
        live_on(world)
        assert world.call("run", "--now").returncode == 0
        assert len(re.findall(r"<entry>|urn:uuid:.*\n *\"url\"", path.read_text())) >= size


def test_a_page_is_known_as_sent_by_who_finds_it_whatever_it_links_to_by_now(
    tmp_path: Path,
) -> None:
    transport = FolderTransport(root=tmp_path)
    to = Destination.parse("file:site/")
    page = Message(
        "text/html", b'<head>\n<meta name="generator" content="Digest ">as sent', "key-1", "p.html"
    )
    assert transport.find(page, to, SUNDAY) is None
    transport.send(page, to)
    (tmp_path / "site" / "p.html").write_bytes(page.body.replace(b"as sent", b"and a later one"))
    found = transport.find(page, to, SUNDAY)
    assert found is not None
    assert found.remote_id == str(tmp_path / "site" / "p.html")
    transport.send(page, to)
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["p.html"]


def test_subscriptions_that_share_a_folder_share_its_first_page_and_its_feed(world: World) -> None:
    world.write_config(to=SITE, extra=GPU.format("ti:GPUs"))
    forget_server(world)
    assert world.call("run").returncode == 0
    site = {name: body.decode() for name, body in read_site(world).items()}
    assert len(list_pages(world)) == 2
    assert re.findall(r"<h3>.*?<span>(.*?)</span>", site["index.html"]) == [
        "Perf team · 3 papers",
        "GPUs &lt;b&gt; · 1 paper",
    ]
    assert site["feed.atom"].count("<entry>") == 3
    assert site["titles.js"].count("Tail latency on shared GPUs") == 2
    assert check_links(world.folder / "site") == 20


def test_a_query_from_a_variable_is_not_shown(world: World) -> None:
    world.environ["DIGEST_VALUE_SECRET"] = "ti:GPUs OR abs:measure"
    world.write_config(to=SITE, extra=GPU.format("$SECRET"))
    assert world.call("run").returncode == 0
    shutil.rmtree(world.folder / "site")
    world.call("run")
    whole = b"".join(read_site(world).values()).decode()
    assert "a query that is not shown" in whole
    assert not re.findall(r"ti:GPUs|abs:measure|cs\.PF</code>|<mark>|GPUs? in", whole)


def test_what_was_cancelled_is_no_part_of_a_site(world: World) -> None:
    world.write_config(to=SITE)
    with closing(world.open()) as site:
        run_pass(site)
        with site.store.begin() as conn:
            conn.execute(update(schema.deliveries).values(state=DeliveryState.SUPPRESSED))
        shutil.rmtree(world.folder / "site")
        run_pass(site)
    assert list_pages(world) == []
    assert "There are no digests yet." in read_site(world)["index.html"].decode()


def test_no_two_digests_have_the_same_page() -> None:
    slots = (
        "2026-11-20",
        "2026-W47",
        "mailing:2026-11-19",
        "run:1",
        "run:12",
        "new:2026-11-20T03:47:00+00:00",
    )
    names = ("a", "2-a", "mailing-2026-11-19", "run-1", "w47-a")
    pages = [name_page(name, slot) for name, slot in product(names, slots)]
    assert len({*pages}) == len(names) * len(slots)
