"""Whole mails and Slack messages made of sample digests: whether they could be sent, and would tell all.

Templates that can each be rendered may still make a mail too long to be sent, or leave papers out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.messages import Delivery, DeliveryState, Links
from digest.render.fragments import Fragments
from digest.render.mail import measure_fit, render_mail_text
from digest.render.samples import (
    EVENING,
    SAMPLE_LINKS,
    full_digest,
    make_digest,
    merged_digest,
    odd_entries,
    quiet_digests,
    revised_digest,
    sample_digest,
    weekly_digest,
)
from digest.render.slack import SlackParts, write_webhook_payload
from digest.subscriptions import Destination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.messages import Digest, Share
    from digest.render.environments import Templates
    from digest.render.mail_forms import Part


def try_mails(templates: Templates) -> None:
    """Make whole mails.

    Raises:
        TemplateError: one takes more room than a mail has, or leaves out papers; its message begins with the
            template's name.
    """
    fragments = Fragments(templates)
    for digest in _make_digests():
        for links in (SAMPLE_LINKS, Links()):
            render_mail_text(fragments, digest, links)


def try_slack(templates: Templates) -> None:
    """Make whole Slack threads.

    Raises:
        TemplateError: Slack would refuse a message, or one leaves out papers; its message begins with the
            template's name.
    """
    for digest in _make_digests():
        parts = SlackParts(templates, digest)
        for part, share in enumerate(parts.shares):
            for links in (SAMPLE_LINKS, Links()):
                write_webhook_payload(parts, _make_delivery(share, part, len(parts.shares)), links)


def find_doubts(templates: Templates) -> Iterator[str]:
    """Yield what readers would miss in mails that can be sent: a way to leave, a subject, links, papers."""
    fragments, digest = Fragments(templates), sample_digest()
    mail = render_mail_text(fragments, digest, SAMPLE_LINKS)
    for name, part in (("email/digest.html", mail.html), ("email/text.txt", mail.plain)):
        if SAMPLE_LINKS.unsubscribe not in _join(part):
            yield f"{name} has no way to leave: print {{{{ links.unsubscribe or links.unsubscribe_mail }}}}."
    if not mail.subject.strip():
        yield "email/subject.txt makes an empty subject."
    yield from _find_short(fragments)


def _find_short(fragments: Fragments) -> Iterator[str]:
    digest = full_digest()
    fit = measure_fit(fragments, digest, SAMPLE_LINKS)
    if fit.papers < digest.shown:
        yield (
            f"of {digest.shown} papers with long abstracts, a mail of your templates has room for {fit.papers}:"
            " shorten email/paper.html or email/style.css, or let email/paper.html print `abstract` alone,"
            " which is as long as there is room."
        )


def _make_digests() -> Iterator[Digest]:
    yield from (sample_digest(), make_digest(odd_entries(), shown=3), merged_digest(), revised_digest())
    yield from (full_digest(), weekly_digest(), quiet_digests()["quiet"])


def _make_delivery(share: Share, part: int, parts: int) -> Delivery:
    return Delivery(
        id=1,
        digest_id=1,
        destination=Destination.parse("slack:#papers"),
        part=part,
        parts=parts,
        state=DeliveryState.CLAIMED,
        attempts=0,
        token=1,
        idempotency_key="0b9d2a4e-6f1c-4c7e-9a55-0d3c8f1e2b77",
        not_before=EVENING,
        created_at=EVENING,
        share=share,
    )


def _join(part: Part) -> str:
    return "".join(piece for piece in part if isinstance(piece, str))
