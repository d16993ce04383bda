"""Digests without papers.

When there is one, and what it says of an announcement that an earlier one stood for.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from digest.model.clock import ManualClock
from digest.model.messages import Digest, Occasion
from digest.render.digests import write_introduction
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import START, TUESDAY, announce, made_up


def look(here: Installation, clock: ManualClock, at: datetime) -> list[Digest]:
    clock.set(max(at, clock.now()))
    return here.run().plan.digests


@pytest.mark.parametrize("when_empty", ["note", "always"])
def test_an_announcement_told_by_a_digest_that_was_missed_is_no_quiet_day(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation], when_empty: str
) -> None:
    here = install(
        arxiv, when="daily at 14:00 UTC", extra=f'look_back = "0 days"\nwhen_empty = "{when_empty}"'
    )
    here.run()
    announce(arxiv, TUESDAY, 21, 22, 23)
    (missed,) = look(
        here, clock, TUESDAY + timedelta(hours=11)
    )  # Tuesday's turn, on Wednesday before that day's
    assert (str(missed.coverage.announcement), missed.coverage.matched) == ("2026-03-03", 3)
    said = look(here, clock, TUESDAY + timedelta(hours=13, minutes=5))
    if when_empty == "note":
        assert said == []
        return
    (heartbeat,) = said
    assert heartbeat.coverage.last_shown_at == missed.planned_at
    assert write_introduction(heartbeat) == (
        "Checked 14:05 UTC: nothing more matched “perf” since the digest of Wed 4 Mar 12:00 UTC."
    )


def test_an_announcement_whose_late_paper_is_excluded_while_it_waits_is_no_quiet_day_either(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(
        arxiv, when="daily at 14:00 UTC", extra='look_back = "0 days"\nwhen_empty = "note"'
    )
    here.run()
    announce(arxiv, TUESDAY, 21)
    look(here, clock, TUESDAY + timedelta(hours=11))
    announce(arxiv, TUESDAY + timedelta(hours=11, minutes=20), 22)
    assert look(here, clock, TUESDAY + timedelta(hours=12)) == []
    file = here.folder / "digest.toml"
    file.write_text(
        file.read_text().replace('["perf"]', '["perf"]\nexclude_papers = ["2603.00022"]')
    )
    assert look(here, clock, TUESDAY + timedelta(hours=13, minutes=5)) == []


@pytest.mark.parametrize("when_empty", ["skip", "always"])
def test_what_came_after_days_of_failure_is_told_whatever_was_said_meanwhile(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation], when_empty: str
) -> None:
    here = install(
        arxiv, when="daily at 14:00 UTC", extra=f'look_back = "0 days"\nwhen_empty = "{when_empty}"'
    )
    here.run()
    arxiv.faults.add("500", times=1000)
    for day in (0, 1):
        announce(arxiv, TUESDAY + timedelta(days=day), 21 + day)
        said = look(here, clock, TUESDAY + timedelta(days=day, hours=13))
        assert len(said) == (when_empty == "always")
    arxiv.faults.clear()
    announce(arxiv, TUESDAY + timedelta(days=2), 23)
    (after,) = look(here, clock, TUESDAY + timedelta(days=2, hours=13))
    assert (str(after.coverage.since), after.coverage.announcements) == ("2026-03-03", 3)
    assert [entry.paper.id.number for entry in after.entries] == [23, 22, 21]


def test_a_quiet_day_that_was_noted_is_not_noted_again_before_the_next_announcement(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(
        arxiv, when="daily at 14:00 UTC", extra='look_back = "0 days"\nwhen_empty = "note"'
    )
    here.run()
    announce(arxiv, TUESDAY + timedelta(days=2), 21, 22, categories=("math.CO",))
    noted = []
    for days in (2, 3, 4):  # Fri 6 to Sun 8 Mar
        digests = look(here, clock, TUESDAY + timedelta(days=days, hours=13))
        noted.append([str(digest.coverage.announcement) for digest in digests])
    assert noted == [["2026-03-05"], [], []]


def test_a_place_that_came_later_has_a_first_digest_of_its_own_and_a_query_only_if_asked_for(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, when="daily at 14:00 UTC", extra='when_empty = "always"')
    (first,) = here.run().plan.digests
    assert (first.occasion, len(first.entries), here.run().plan.digests) == (
        Occasion.FIRST_DIGEST,
        15,
        [],
    )
    assert "Welcome. These are the 15 newest papers for your query." in write_introduction(first)
    clock.set(START + timedelta(hours=1, minutes=30))
    assert here.run().plan.digests == [], (
        "the turn of the day passes: its reader heard something already"
    )
    announce(arxiv, TUESDAY, 21, 22)
    (told,) = look(here, clock, TUESDAY + timedelta(hours=13, minutes=5))
    announce(arxiv, TUESDAY + timedelta(days=1), 23)
    arxiv.add(made_up(24, TUESDAY, announced=TUESDAY + timedelta(days=1), categories=("hep-th",)))
    assert look(here, clock, TUESDAY + timedelta(days=1, hours=8)) == []  # both wait for 14:00
    here.edit('to = ["mailto', 'to = ["mailto:late@example.org", "mailto')
    here.edit('["perf"]', '["perf", "high"]')
    here.edit("[queries]", "[queries]\nhigh = 'cat:hep-th'")
    mails = len(here.mail.mails)
    (sample,) = look(here, clock, TUESDAY + timedelta(days=1, hours=8, minutes=10))
    assert [len(sample.entries), *(entry.paper.id.number for entry in sample.entries[:2])] == [
        15,
        22,
        20,
    ]
    assert [str(mail.message["To"]) for mail in here.mail.mails[mails:]] == ["late@example.org"]
    here.command("subscription", "first", "perf-team")
    (high,) = look(here, clock, TUESDAY + timedelta(days=1, hours=8, minutes=20))
    assert (high.occasion, [entry.paper.id.number for entry in high.entries][:1]) == (
        Occasion.FIRST_DIGEST,
        [24],
    )
    assert here.run().plan.digests == []
    (due,) = look(here, clock, TUESDAY + timedelta(days=1, hours=13, minutes=5))
    assert [entry.paper.id.number for entry in (*told.entries, *due.entries)] == [22, 21, 23]
    assert here.run().plan.digests == []
    here.command("db", "check")


def test_first_digests_hold_what_is_nearest_to_the_library_of_all_that_is_new_enough(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    near = [30 + number for number in range(5)]
    for number in near:
        title = f"Nanowires, part {number}"
        arxiv.add(
            made_up(number, START - timedelta(days=6), title=title, abstract="We grow nanowires.")
        )
    arxiv.add(
        made_up(36, START - timedelta(days=6), title="Nanowires", abstract="We grow nanowires.")
    )
    here = install(arxiv, when="daily at 14:00 UTC", extra='library = "lab.bib"\nshow = 5')
    (here.folder / "lab.bib").write_text(
        "@misc{a, title = {Nanowires}, abstract = {They grow nanowires.}}"
    )
    here.edit('["perf"]', '["perf", "other"]')
    here.edit("[queries]", "[queries]\nother = 'cat:cs.PF'")
    (first,) = here.run().plan.digests
    assert (len(first.entries), {entry.paper.id.number for entry in first.entries[:5]}) == (
        15,
        {*near},
    )
    assert write_introduction(first).startswith(
        "Welcome. These are the 15 recent papers nearest to this list's"
    )
    announce(arxiv, TUESDAY, 21, 22, 23, 24)
    look(here, clock, TUESDAY + timedelta(hours=13, minutes=5))
    here.edit('to = ["mailto', 'to = ["mailto:late@example.org", "mailto')
    (sample,) = look(here, clock, TUESDAY + timedelta(hours=13, minutes=10))
    assert (len(sample.entries), {entry.paper.id.number for entry in sample.entries[:5]}) == (
        15,
        {*near},
    )
