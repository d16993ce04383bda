"""What became of a paper.

Held against the text its reader had, through a pause, and within a week.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from tests.conftest import IS_NIGHTLY
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import ALL_KINDS, TUESDAY, announce, made_up

DAY = timedelta(days=1)
MONDAY_NOON = datetime(2026, 3, 9, 12, 1, tzinfo=UTC)
ABSTRACT = "We measure tail latency on 64 machines."


NIGHTLY = pytest.mark.skipif(
    not IS_NIGHTLY, reason="lives through days: .ci/nightly sets DIGEST_NIGHTLY"
)


def look(here: Installation, clock: ManualClock, *moments: datetime) -> None:
    for moment in moments:
        clock.set(max(moment, clock.now()))
        here.run()


def read_last_mail(here: Installation) -> tuple[str, str]:
    """Return subject and text of the last mail, on one line."""
    mail = here.mail.mails[-1].message
    plain, _ = mail.iter_parts()
    return str(mail["Subject"]), " ".join(str(plain.get_content()).split())


def preview(here: Installation, *options: str) -> str:
    """Return what `digest preview` shows, on one line."""
    file = here.folder / "look.out"
    here.command("preview", "perf-team", *options, "--output", str(file))
    return " ".join(file.read_text().split())


def find_last_number(here: Installation) -> int:
    return int(
        json.loads(here.command("subscription", "show", "perf-team", "--json"))["digests"][0]["id"]
    )


@NIGHTLY
def test_a_digest_of_a_week_says_what_became_of_its_papers_though_nobody_asked_for_replacements(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(
        arxiv, extra='look_back = "0 days"\nkinds = ["new"]', when="mondays at 12:00 UTC"
    )
    here.run()
    announce(arxiv, TUESDAY, 21, 22, 23, abstract=ABSTRACT)
    thursday = TUESDAY + 2 * DAY
    announce(arxiv, thursday, 24, abstract=ABSTRACT)
    arxiv.replace(
        "2603.00021",
        submitted=thursday - timedelta(hours=9),
        announced=thursday,
        comment="accepted at a workshop",
        abstract=ABSTRACT.replace("64", "96"),
    )
    arxiv.withdraw("2603.00022", announced=thursday, comment="An error in Section 4.")
    look(here, clock, TUESDAY + timedelta(hours=3), thursday + timedelta(hours=3))
    assert "Withdrawn on Thu 5 Mar (v2)" in preview(here, "--next", "--as", "text")
    look(here, clock, MONDAY_NOON)
    (digest,) = here.digests
    assert [(entry.paper.id.number, entry.kind) for entry in digest.entries] == [
        (number, Kind.NEW) for number in (24, 23, 21, 22)
    ]
    subject, text = read_last_mail(here)
    assert subject == "3 new, 1 withdrawn: Made-up paper 24"
    assert "3–8 March 2026" in text
    assert "replaced on Thu 5 Mar (v2): accepted at a workshop; abstract: 1 word changed" in text
    assert "Withdrawn on Thu 5 Mar (v2): An error in Section 4." in text


@NIGHTLY
def test_after_versions_were_missed_a_paper_is_held_against_the_one_its_reader_had(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=f"look_back = '0 days'\n{ALL_KINDS}", when="daily at 12:00 UTC")
    here.run()
    announce(arxiv, TUESDAY, 21, abstract=ABSTRACT)
    look(here, clock, TUESDAY + timedelta(hours=12))
    for number, words in ((1, "80 machines"), (2, "96 machines and one more")):
        moment = TUESDAY + number * DAY
        text = ABSTRACT.replace("64 machines", words)
        arxiv.replace(
            "2603.00021", submitted=moment - timedelta(hours=9), announced=moment, abstract=text
        )
        if number == 1:
            here.command("subscription", "pause", "perf-team")
        look(here, clock, moment + timedelta(hours=12))
    here.command("subscription", "resume", "perf-team")
    look(here, clock, TUESDAY + 3 * DAY + timedelta(hours=12))
    digest = here.digests[-1]
    (entry,) = digest.entries
    assert entry.before is not None
    assert (entry.label, entry.before.paper.abstract) == ("v1 → v3", ABSTRACT)
    _, text = read_last_mail(here)
    assert "Made-up paper 21 (abstract: 4 words changed)" in text
    page = preview(here, "--digest", str(find_last_number(here)), "--as", "page")
    assert re.findall(r"</span>([^<]+)<span", page) == ["64", "96", "and one more"]


@NIGHTLY
def test_papers_stand_below_the_saved_query_that_brought_them_and_come_once(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(
        arxiv, extra='look_back = "0 days"\ngroup_by = "query"', when="daily at 12:00 UTC"
    )
    path = here.folder / "digest.toml"
    text = path.read_text().replace("[queries]\n", "[queries]\nlatency = 'abs:\"tail latency\"'\n")
    path.write_text(text.replace('follow = ["perf"]', 'follow = ["latency", "perf"]'))
    here.run()
    announce(arxiv, TUESDAY, 21, abstract=ABSTRACT)
    arxiv.add(
        made_up(22, TUESDAY - timedelta(hours=9), announced=TUESDAY, abstract="Something else.")
    )
    look(here, clock, TUESDAY + timedelta(hours=12))
    _, text = read_last_mail(here)
    assert (
        text.index("latency (1) 1. Made-up paper 21")
        < text.index("Why: also perf")
        < text.index("perf (1) 2. Made")
    )
    assert text.count("Made-up paper 21") == 1
