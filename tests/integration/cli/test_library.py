"""`digest library`: what libraries hold, and what a reader likes.

It also says how well they tell papers apart.
"""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from digest.config import load_config
from digest.model.messages import Links
from digest.plan.links import make_links
from digest.serve.installation import open_site
from digest.serve.schedule import Jobs
from digest.site import Site
from digest.store import digests, subscriptions
from tests.command_line import run_digest
from tests.fakes.archive import read_demo_papers
from tests.fakes.loopback import Answer
from tests.fakes.zotero import FakeLibrary, Zotero
from tests.harness.papers import made_up
from tests.harness.serving import serve_site
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World
from tests.integration.cli.test_init import folder, outside  # noqa: F401 - fixtures

FIRST = 'name = "perf-team"'
STORED = "2611.15000"
OTHER = "2611.15001"
WHALES = """@misc{o, title = {Number theory}}
@misc{p, title = {Prime gaps}, abstract = {On primes.}}
""" + "".join(
    f"@misc{{k{n}, title = {{Whales sing, {n}}}, abstract = {{Songs of whales.}}}}\n"
    for n in range(4)
)
BIB = """@article{a, title = {GPU kernels}, eprint = {2611.15000}}
@article{b, title = {Queues}, abstract = {Tail latency.}}
@article{c, title = {Broken, abstract = {x
@misc{d, title = {Not stored}, eprint = {1601.00001}}
"""


def test_a_library_is_shown_as_soon_as_it_is_written_and_before_any_run(
    digest: Shell, world: World
) -> None:
    (world.folder / "lab.bib").write_text(BIB)
    world.edit(FIRST, f'{FIRST}\nlibrary = "lab.bib"\nnot_like = "gone.ris"')
    found, gone = digest("library", "show", "--json", expect=3).json["libraries"]
    assert [bool(one["paper"]["abstract"]) for one in found["papers"]].count(True) == 2
    assert (gone["papers"], gone["read_at"]) == ([], None)
    assert "Did you mean 'perf-team'?" in digest("library", "show", "perf-taem", expect=2).err
    assert "Check the path of the file." in digest("library", "show", "nofile.bib", expect=2).err


def test_a_library_at_zotero_that_cannot_be_read_says_what_to_do(
    digest: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Zotero(users_1=FakeLibrary(is_public=True)) as zotero:
        monkeypatch.setenv("DIGEST_ZOTERO_URL", zotero.url)
        for command in (["missed"], ["library", "show"]):
            zotero.orders = [Answer(b"", 500)]
            zotero.visits = []
            said = digest(*command, "Zotero:1", expect=4)
            assert "Zotero answered 500" in said.out + said.err
            assert "Check the network, or try again later." in said.out + said.err
            assert len(zotero.visits) == 1


def test_without_a_configuration_a_file_is_shown(
    digest: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.txt").write_text("2611.15000\n")
    assert "1 paper, 0 with an abstract." in digest("library", "show", "thesis.txt").out
    assert digest("library", "show").out.startswith("No subscription has a library.")


@pytest.mark.usefixtures("world")
def test_a_reader_likes_papers_more_and_less_and_takes_it_back(digest: Shell) -> None:
    def read_likes() -> list[tuple[str, str]]:
        likes = digest("library", "show", "--json").json["likes"].get("perf-team", [])
        return [(one["paper"]["arxiv_id"], one["opinion"]) for one in likes]

    said = digest("library", "add", "perf-team", STORED, f"https://arxiv.org/abs/{OTHER}v1").lines
    assert [line.startswith("perf-team: more like “") for line in said[:2]] == [True, True]
    assert said[2:] == ["That counts from the next digest on: `digest preview perf-team --next`."]
    assert digest("library", "add", "perf-team", STORED).out.endswith(", as before.\n")
    digest("library", "add", "perf-team", OTHER, "--less")
    assert read_likes() == [(STORED, "more"), (OTHER, "less")]
    assert (
        f"likes of perf-team\n  more like {STORED}: " in digest("library", "show", "perf-team").out
    )
    unknown = digest("library", "add", "perf-team", "2611.15002", "2611.99999", expect=2)
    assert "arXiv knows no paper 2611.99999" in unknown.err
    assert "there is no subscription 'x'" in digest("library", "add", "x", STORED, expect=2).err
    digest("library", "remove", "perf-team", STORED)
    assert (
        digest("library", "remove", "perf-team", STORED).out
        == f"perf-team: nothing was said of {STORED}.\n"
    )
    assert read_likes() == [(OTHER, "less")]


def test_a_liked_paper_that_is_not_stored_is_asked_of_arxiv(digest: Shell, world: World) -> None:
    asked = len(world.arxiv.requests)
    world.arxiv.add(made_up(1, NOW - timedelta(days=99), id="2608.00001", title="Of last summer"))
    assert (
        digest("library", "add", "perf-team", "2608.00001", STORED)
        .lines[0]
        .endswith("“Of last summer”.")
    )
    assert [visit.param("id_list") for visit in world.arxiv.requests[asked:]] == ["2608.00001"]


def test_a_check_names_the_papers_that_the_others_do_not_bring_to_the_top(
    digest: Shell, world: World
) -> None:
    (world.folder / "lab.bib").write_text(WHALES)
    world.edit(FIRST, f'{FIRST}\nlibrary = "lab.bib"')
    assert "digest run" in digest("library", "check", expect=2).err
    digest("run")
    (found,) = digest("library", "check", "--json").json
    assert [one["title"] for one in found["far"]] == ["Number theory", "Prime gaps"]
    assert "gpu-mail has no library" in digest("library", "check", "gpu-mail", expect=2).err


def test_init_follows_the_categories_of_a_library_and_shows_as_many_papers_as_wanted(
    folder: Path,  # noqa: F811 - a fixture
    outside: dict[str, str],  # noqa: F811 - the same
) -> None:
    papers = [one for one in read_demo_papers() if one.version == 1]
    ids = [[one.id for one in papers if one.categories[0] == name] for name in ("cs.PF", "math.CO")]
    (folder / "lab.bib").write_text(
        "".join(f"@misc{{k, eprint = {{{id_}}}}}\n" for id_ in ids[0][:3] + ids[1][:1])
    )
    flags = ("--show", "5", "--to", "console", "--contact", "you@example.org")
    done = run_digest(folder, outside, "init", "--library", "lab.bib", *flags)
    assert done.returncode == 0, done
    variables = {name: text for name, text in outside.items() if name.startswith("DIGEST_")}
    (made,) = load_config(folder / "digest.toml", variables).subscriptions
    assert made.queries == ("cat:cs.PF OR cat:math.CO",)
    assert (made.library, made.show) == ((str(folder / "lab.bib"),), 5)
    said = (
        "cat:cs.PF OR cat:math.CO: it has 4 of your library's 4 newest papers with an arXiv id,"
        " of 4 in all."
    )
    assert f"You follow {said} `digest add` follows more" in " ".join(done.stdout.split())
    (folder / "book.bib").write_text("@book{b, title = {No paper of arXiv's}}\n")
    for file, missing in (("book.bib", "needs --query"), ("gone.bib", "gone.bib can't be read")):
        refused = run_digest(folder, outside, "init", "other.toml", "--library", file, *flags)
        assert missing in refused.stderr
    silent = {**outside, "DIGEST_ARXIV_API_URL": "http://127.0.0.1:9/api/query"}
    assert (
        "needs --query"
        in run_digest(folder, silent, "init", "other.toml", "--library", "lab.bib", *flags).stderr
    )
    assert not (folder / "other.toml").exists()


def test_a_library_is_added_with_a_query_and_changed_by_edit(
    digest: Shell, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = world.folder / "papers"
    below.mkdir(exist_ok=True)
    monkeypatch.chdir(below)
    at = ("--config", str(world.folder / "digest.toml"))
    sources = ("--library", "lab.bib", "--library", "zotero:1/Thesis")
    digest(*at, "add", "ti:zebra", "--name", "zebra", "--to", "feed", "--when", "at once", *sources)
    text = (world.folder / "digest.toml").read_text()
    assert 'library = ["papers/lab.bib", "zotero:1/Thesis"]' in text
    digest(
        *at, "subscription", "edit", "zebra", "library=other.bib", "not_like=a.bib,zotero:group/5"
    )
    text = (world.folder / "digest.toml").read_text()
    assert (
        'library = ["other.bib"]' in text,
        'not_like = ["a.bib", "zotero:group/5"]' in text,
    ) == (True, True)
    assert (
        "names no library"
        in digest(*at, "add", "cs.DC", "--to", "feed", "--library", "zotero:me", expect=2).err
    )


LAB = (
    "@article{a, title = {Tail latency on {GPU} clusters},"
    " abstract = {Tail latency of kernels on shared GPUs.}}"
)
TITLE = "Tail latency on GPU clusters"
OTHERS = "near this list's library"


def test_explain_says_how_near_a_paper_is_and_what_puts_it_first_and_last(
    digest: Shell, world: World
) -> None:
    (world.folder / "lab.bib").write_text(LAB)
    keys = (
        "library = 'lab.bib'\nread_first = ['perf', 'ti:zebra']\nread_last = 'ti:\"tail latency\"'"
    )
    world.edit('name = "gpu-mail"', f'name = "gpu-mail"\n{keys}')
    digest("run")
    found = digest("explain", "2611.15012", "gpu-mail", "--json").json["subscriptions"][0]["order"]
    assert (found["near"]["title"], found["near"]["place"], found["read_first"]) == (
        TITLE,
        1,
        ["perf"],
    )
    plain = digest("explain", "2611.15012", "perf-team", "--json").json["subscriptions"][0]["order"]
    assert plain == {"near": None, "read_first": [], "read_last": []}


def show_newest(site: Site, url: str, name: str) -> tuple[str, str]:
    """Return the newest digest of a subscription as its mail and its page show it."""
    with site.store.read() as conn:
        (due,) = subscriptions.load(conn, names=[name])
        (newest,) = digests.load_summaries(conn, subscription_ids=[due.id], limit=1)
        digest = digests.load(conn, newest.id)
        token = make_links(conn, site.config).web_token(name, digest.slot)
    page = httpx.get(f"{url}/d/{token}")
    assert page.status_code == 200
    return site.renderer.render_text(digest, Links()), page.text


def test_titles_of_a_library_are_shown_to_its_owner_alone(digest: Shell, world: World) -> None:
    (world.folder / "lab.bib").write_text(LAB)
    own = "mailto:mine@digest.example"
    keys = {
        "mine": f'to = "{own}"',
        "kept": f'to = ["{own}", "file:out/"]',
        "two": f'to = ["{own}", "mailto:two@digest.example"]',
        "channel": f'to = ["{own}", "slack:#papers"]',
        "shared": f'to = "{own}"\nshared = true',
        "joinable": f'to = "{own}"\njoinable = true',
        "public": f'to = "{own}"\narchive = "public"',
    }
    path = world.write_config()
    added = (
        f"[[subscriptions]]\nname = '{name}'\nfollow = 'gpu'\nlibrary = 'lab.bib'\n{its}"
        for name, its in keys.items()
    )
    path.write_text(
        "\n".join([path.read_text(), *added, '[alarms]\nto = "mailto:ops@digest.example"\n'])
    )
    digest("run")
    site = open_site(
        load_config(path, world.environ), world.clock, owner="test", jitter=lambda: 0.5
    )
    with closing(site), serve_site(site) as url:
        shown = {name: show_newest(site, url, name) for name in keys}
        titled = {name for name, (mail, _) in shown.items() if TITLE in mail}
        assert titled == {"mine", "kept"}
        assert all(OTHERS in mail for name, (mail, _) in shown.items() if name not in titled)
        assert {name for name, (_, page) in shown.items() if TITLE in page} == titled
        world.edit("name = 'mine'", "name = 'mine'\narchive = 'public'")
        Jobs(site, lambda: False).reload(lambda: load_config(path, world.environ))
        assert TITLE not in show_newest(site, url, "mine")[1], "though the page was kept"
        world.edit("\narchive = 'public'", "")
    assert {TITLE in file.read_text() for file in (world.folder / "out").iterdir()} == {False}
    digest("send", "mine")
    assert TITLE not in str(world.mail.mails[-1].message)
