"""What a subscription never hears of: shown and looked up."""

from __future__ import annotations

from sqlalchemy import update

from digest.store.schema import subscriptions
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

PERSON = 'author:"Keiko Lindquell" AND cat:math.CO'
FIRST = 'name = "perf-team"'


def test_explain_says_who_excludes_a_paper(digest: Shell, world: World) -> None:
    paper = digest("query", "show", "perf", "--json").json["papers"][0]["paper"]["id"]
    world.edit(FIRST, f'{FIRST}\nexclude_papers = ["{paper}"]')
    found = digest("explain", paper, "perf", "--offline", "--json").json
    assert found["excluded_by"] == {"perf-team": f"exclude_papers names {paper}"}
    assert digest("explain", "2611.00042x", "gpu", "--offline", expect=2).err


def test_the_doctor_and_status_name_what_cannot_be_read(digest: Shell, world: World) -> None:
    world.edit('broken = "ti:(gpu OR"', 'broken = "ti:gpu"')
    digest("doctor", "--quick")
    world.edit(FIRST, f"{FIRST}\nexclude = 'author:Lindquell'")
    said = digest("doctor", "--quick", expect=1)
    assert "subscriptions.perf-team.exclude: 'Lindquell' is not a full name" in " ".join(
        said.out.split()
    )
    assert (
        "what perf-team excludes can't be read: 'Lindquell' is not a full name"
        in digest("status").out
    )
    world.edit("exclude = 'author", "read_last = 'author")
    said = digest("doctor", "--quick", expect=1)
    assert "subscriptions.perf-team.read_last: 'Lindquell' is not a full name" in " ".join(
        said.out.split()
    )
    assert "what perf-team reads last can't be read: 'Lindquell'" in digest("status").out


def test_an_exclusion_that_cannot_be_read_is_shown(digest: Shell, world: World) -> None:
    store = world.open_store()
    with store.begin() as conn:
        spoilt = update(subscriptions).where(subscriptions.c.name == "perf-team")
        conn.execute(spoilt.values(exclude_queries="author:Lindquell"))
    store.close()
    shown = digest("subscription", "show", "perf-team").out
    assert "author:Lindquell   can't be read: 'Lindquell' is not a full name" in shown


def test_a_text_that_cannot_be_read_is_named_on_each_screen_and_waits_for_no_run(
    digest: Shell, world: World
) -> None:
    world.edit(
        'follow = ["gpu"]\nto = "mailto:reader',
        'follow = ["cat:cs.PF AND", "gpu"]\nto = "mailto:reader',
    )
    digest("run")
    world.edit('follow = ["cat:cs.PF AND", "gpu"]', 'follow = ["cat:cs.PF AND"]')
    said = " ".join(digest("run").err.split())
    assert "what gpu-mail follows can't be read; what was there before stays in use:" in said
    assert "what gpu-mail follows can't be read" in digest("status").out
    assert "edited since the last run" not in digest("subscription", "list").out
    assert "gpu" in digest("subscription", "show", "gpu-mail").out
    digest("explain", "2611.15012", "gpu-mail")
    world.edit('follow = ["cat:cs.PF AND"]', 'follow = ["gpu"]')
    assert "can't be read; what was" not in digest("run").err
    assert "cat:cs.PF AND" not in digest("subscription", "show", "gpu-mail").out
