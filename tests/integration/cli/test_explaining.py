"""What became of a paper on its way to a subscription."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

import pytest
from sqlalchemy import Connection, select

from digest.inspect.explain import Verdict, explain_paper
from digest.model.papers import ArxivId
from digest.model.subscriptions import DueSubscription
from digest.query import matches, parse_query
from digest.store import digests, open_store, outbox, subscriptions
from digest.store.papers import load as load_paper
from digest.store.papers import load_forgotten, load_stored_span
from digest.store.schema import papers
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World


@pytest.mark.usefixtures("world")
def test_a_paper_in_a_digest_that_nobody_got_is_not_called_sent(digest: Shell) -> None:
    (trail,) = digest("explain", "2611.14991", "old-mail", "--json").json["subscriptions"]
    assert trail["judged"]["verdict"] == "not delivered"


def test_a_paper_beyond_the_cap_is_hidden_where_a_message_is_capped_and_there_alone(
    world: World, digest: Shell
) -> None:
    places = '"mailto:second@digest.example", "console"'
    world.edit('to = "mailto:second@digest.example"', f"to = [{places}]\nshow = 1")
    digest("run")
    digest("subscription", "resume", "perf-mail")
    world.clock.set(NOW + timedelta(days=3))
    digest("run")


@pytest.mark.usefixtures("world")
def test_a_reader_who_left_is_named_with_how_and_since_when(digest: Shell) -> None:
    digest("subscription", "unsubscribe", "perf-mail", "mailto:second@digest.example")
    facts = digest("explain", "2611.15003", "perf-mail", "--json").json["subscriptions"][0]
    (left,) = facts["unsubscribed"]
    assert facts["judged"]["verdict"] == "left out"
    assert (left["destination"], left["reason"]) == ("mailto:second@digest.example", "operator")


def test_a_reader_who_came_later_has_a_digest_of_their_own(world: World, digest: Shell) -> None:
    carl = "carl@digest.example"
    old = '"mailto:old@digest.example"'
    world.edit(f"to = {old}", f'to = [{old}, "mailto:{carl}"]')
    digest("run")
    whole = digest("explain", "2611.15012", "old-mail", "--json").json["subscriptions"][0]
    assert whole["judged"]["verdict"] == "sent"
    assert len(whole["digests"]) == 2
    line = digest("explain", "2611.15012", carl).lines[2]
    assert line.split()[:2] == ["old-mail", "sent"]
    digest("subscription", "unsubscribe", "old-mail", carl)
    assert digest("explain", "2611.15012", carl).lines[-1] == "old-mail: unsubscribed Fri 20 Nov"
    others = digest("explain", "2611.15012", "old@digest.example").lines[2]
    assert others.split()[:3] == ["old-mail", "not", "delivered"], (
        "what went to carl alone is not theirs"
    )


@pytest.mark.usefixtures("world")
def test_a_paper_that_waits_says_for_what(digest: Shell) -> None:
    said = digest("explain", "2611.15003", "perf-mail").lines
    assert said[1] == "perf-mail  waiting – it matched, and waits for the end of the pause"


def test_a_paper_whose_saved_query_was_edited_while_it_waited_keeps_what_brought_it(
    world: World, digest: Shell
) -> None:
    world.edit('perf = "cat:cs.PF"', 'perf = "cat:cs.AR"')
    digest("subscription", "resume", "perf-mail")
    world.clock.set(NOW + timedelta(days=3))
    digest("run")
    store = world.open_store()
    with store.read() as conn:
        (due,) = subscriptions.load(conn, names=["perf-mail"])
        summary, *_ = digests.load_summaries(conn, subscription_ids=[due.id])
        latest = digests.load(conn, summary.id)
    store.close()
    (entry,) = (entry for entry in latest.entries if str(entry.paper.id) == "2611.15003")
    assert entry.queries == ("perf",)
    (reason,) = entry.reasons
    assert reason.clause == "cat:cs.PF"


def test_a_paper_that_was_forgotten_is_said_to_be_so(world: World, digest: Shell) -> None:
    store = world.open_store()
    outbox.delete_expired(store, NOW + timedelta(days=91), unmatched_days=90)
    with store.read() as conn:
        numbers = range(14_900, 15_400)
        (forgotten, *_) = load_forgotten(conn, [ArxivId(202611, number) for number in numbers])
        reach = load_stored_span(conn)
    assert reach is not None
    assert reach.since > NOW.date()
    said = digest("explain", str(forgotten), "gpu-mail").lines
    assert said[0] == f"{forgotten}  not stored here, so it was not sent to gpu-mail"
    assert said[1].startswith("announced  known, matched nothing, forgotten on ")
    outbox.delete_expired(store, NOW + timedelta(days=106), unmatched_days=90)
    assert (
        digest("explain", str(forgotten), "gpu-mail")
        .lines[1]
        .endswith("known, matched nothing, forgotten")
    )
    store.close()


@pytest.mark.usefixtures("world")
def test_a_paper_that_is_not_stored_is_no_riddle(digest: Shell) -> None:
    said = digest("explain", "2611.99999", "gpu-mail").lines
    assert said[0] == "2611.99999  not stored here, so it was not sent to gpu-mail"
    assert said[1].startswith(
        "announced  not announced by the last check: the newest paper here is 2611.15"
    )
    old_style = digest("explain", "hep-th/9901001v2", "gpu-mail").lines
    assert old_style[0] == "hep-th/9901001  not stored here, so it was not sent to gpu-mail"
    earlier = digest("explain", "2601.00001", "gpu-mail").lines
    assert earlier[1].endswith("`digest coverage` says which")


def test_whether_a_feed_shows_the_paper_is_said_with_the_reason(
    world: World, digest: Shell
) -> None:
    def judge(paper: str, subscription: str) -> tuple[str, list[str]]:
        facts = digest("explain", paper, subscription, "--json").json["subscriptions"][0]
        return facts["judged"]["verdict"], [why for _, why in facts["feeds"]]

    assert judge("2611.14991", "perf-team") == ("sent", [""])
    assert judge("2611.14991", "gpu-static") == ("shown", [""])
    assert judge("2611.14987", "gpu-static") == (
        "no match",
        ["the paper did not match this subscription"],
    )
    digest("feed", "revoke", "perf-team")
    assert judge("2611.14991", "perf-team") == ("sent", ["it is closed"])
    world.edit('follow = ["gpu", "broken"]', 'follow = ["gpu"]\nexclude_papers = ["2611.14991"]')
    digest("run")
    assert judge("2611.14991", "gpu-static")[1] == ["the subscription excludes the paper now"]


@pytest.mark.usefixtures("world")
def test_the_same_is_had_as_json(digest: Shell) -> None:
    facts = digest("explain", "2611.14991", "gpu-mail", "--json").json["subscriptions"][0]
    assert facts["judged"]["verdict"] == "sent"
    assert facts["announcement"] == "2026-11-10"
    met = []
    for change in facts["changes"]:
        met += [one["met"] for one in change["asked"]]
    assert met == ["entered", "stayed in"]
    ((stored, attempts),) = facts["digests"][1]["deliveries"]
    assert stored["delivery"]["state"] == "sent"
    assert attempts[0]["outcome"] == "sent"
    unknown = digest("explain", "2611.99999", "gpu-mail", "--json").json
    assert unknown["subscriptions"][0]["changes"] == []


@pytest.mark.usefixtures("world")
def test_a_slip_in_a_name_or_an_id_is_answered_with_what_to_do(digest: Shell) -> None:
    assert "Did you mean 'gpu-mail'?" in digest("explain", "2611.14991", "gpu-mial", expect=2).err
    assert "arXiv id" in digest("explain", "nonsense", "gpu-mail", expect=2).err
    for words in (("1608.0000", "gpu-mail"), ("1608.0000", "gpu"), ("1608.0000",)):
        assert "there is no such id: 1608.0000" in digest("explain", *words, expect=2).err


@pytest.mark.usefixtures("world")
def test_a_paper_alone_is_explained_for_every_subscription(digest: Shell) -> None:
    said = digest("explain", "2611.15012", "--json").json
    verdicts = {one["subscription"]: one["judged"]["verdict"] for one in said["subscriptions"]}
    assert verdicts == {
        "gpu-mail": "sent",
        "gpu-static": "shown",
        "old-mail": "not delivered",
        "perf-mail": "waiting",
        "perf-team": "sent",
    }
    said = digest("explain", "2611.14987")
    assert said.lines[1].startswith("No match for gpu-mail, gpu-static, "), "which is said once"
    assert "`digest explain 2611.14987 gpu-mail` says why" in said.out
    assert digest("explain", "2611.99999", "--json").json["subscriptions"][0]["judged"] is None


def test_sent_is_what_a_frozen_digest_holds_and_unmet_what_no_saved_query_means(
    world: World,
) -> None:
    store = open_store(f"sqlite:///{world.folder}/digest.db")
    with store.read() as conn:
        for due in subscriptions.load(conn, include_ended=True):
            told = _find_sent(conn, due)
            others = [id_ for id_ in map(ArxivId.parse, _every_id(conn)) if id_ not in told]
            for id_ in (*told, *islice(others, 0, None, 7)):
                verdict = explain_paper(conn, id_, due, "harvest").judged
                assert verdict is not None
                is_in_digest = verdict.verdict in (Verdict.SENT, Verdict.UNSENT)
                assert is_in_digest == (id_ in told)
                if not is_in_digest:
                    is_unmet = verdict.verdict is Verdict.UNMET
                    assert is_unmet != _is_met(conn, due, id_), (id_, verdict)
    store.close()


def _find_sent(conn: Connection, due: DueSubscription) -> set[ArxivId]:
    summaries = digests.load_summaries(conn, subscription_ids=[due.id], limit=1_000)
    shown: set[ArxivId] = set()
    for summary in summaries:
        digest = digests.load(conn, summary.id)
        shown.update(entry.paper.id for entry in digest.entries)
    return shown


def _every_id(conn: Connection) -> list[str]:
    in_order = select(papers.c.arxiv_id).order_by(papers.c.id)
    return list(conn.execute(in_order).scalars())


def _is_met(conn: Connection, due: DueSubscription, id_: ArxivId) -> bool:
    known = load_paper(conn, id_)
    assert known is not None
    for revision in due.revisions:
        if revision.canonical and matches(parse_query(revision.text), known.paper):
            return True
    return False
