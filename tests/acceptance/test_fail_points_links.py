"""C17: the link by which somebody leaves stands in the mail and, hashed, in the database: both or none.

Digest sends no mail to confirm a subscription yet; the links in its digests are the ones it gives out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from digest.deliver import unsubscribe
from tests.acceptance.dying import KILLED
from tests.acceptance.fail_points import MOMENTS, TABLE, Row
from tests.acceptance.made import made_up
from tests.acceptance.mortals import Mortal
from tests.conftest import IS_NIGHTLY

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="a few deaths are died every day")

ROWS = [row for row in TABLE if row.name in ("C7", "C8", "C10, mail", "C11, mail")]
_LINKS = "SELECT count(*) FROM tokens WHERE purpose = 'leave'"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_link_in_every_copy_works_and_ends_the_digests(
    database: str, row: Row, live: Callable[[str], AbstractContextManager[Mortal]]
) -> None:
    with live(database) as here:
        here.run(row.point, expect=KILLED)
        assert here.ask(_LINKS) == [(row.stored.digests,)], "with the digest it is for"
        for moment in MOMENTS[:3]:
            here.advance(moment)
            here.let_leases_lapse()
            here.run()
        assert here.ask(_LINKS) == [(1,)]
        (link,) = {
            re.findall(r"http://localhost/u/([^>\s]+)>", str(mail.message["List-Unsubscribe"]))[0]
            for mail in here.mail.mails
        }
        with here.opened() as site, site.store.begin() as conn:
            assert unsubscribe.leave_by_link(conn, link, at=here.clock.now())
        came = here.look_at("mail")
        here.arxiv.add(made_up(7, here.clock.now()))
        here.advance(timedelta(days=1))
        here.run()
        assert here.look_at("mail") == came
        assert here.look_at("feed") == "5/5"
