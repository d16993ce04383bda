"""A message to the operator: what is amiss, what is over. Plain text by mail, a few blocks in Slack."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

from digest.messages import Message
from digest.render.blocks import compile_blocks
from digest.render.cleaning import clean_markup, clean_text
from digest.render.flowing import flow_text
from digest.render.headers import check_address, check_atom, write_mailbox, write_subject
from digest.render.mime import write_plain_mail
from digest.render.slack import EVENT_TYPE, encode_payload
from digest.render.slack_limits import make_payload
from digest.render.webhook import write_alarm_event
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from digest.render.contexts import AlarmContext
    from digest.render.environments import Templates
    from digest.render.mail import MailIdentity
    from digest.subscriptions import Destination

MAIL, SLACK = "email/alarm.txt", "slack/alarm.txt"


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where a message to the operator goes.

    Attributes:
        destination: as configured.
        remote_address: what the other side calls it, "" where that is its address.
        key: names the message: a repetition has the same.
        identity: who a mail is from.
    """

    destination: Destination
    remote_address: str
    key: str
    identity: MailIdentity


def write_alarm(templates: Templates, context: AlarmContext, envelope: Envelope) -> Message:
    """Write the message for its destination.

    Raises:
        TemplateError: a template cannot be rendered, or Slack would refuse what it makes.
        ConfigurationError: an address cannot be written into a mail's header.
    """
    match envelope.destination.kind:
        case DestinationKind.MAIL:
            return _message("message/rfc822", _write_mail(templates, context, envelope), envelope, ".eml")
        case DestinationKind.SLACK:
            payload = {
                "channel": envelope.remote_address or envelope.destination.address,
                **_write_payload(templates, context),
                "metadata": {"event_type": EVENT_TYPE, "event_payload": {"alarm": envelope.key}},
                "client_msg_id": envelope.key,
            }
            return _message("application/json", encode_payload(payload), envelope, ".json")
        case DestinationKind.SLACK_WEBHOOK:
            body = encode_payload(_write_payload(templates, context))
            return _message("application/json", body, envelope, ".json")
        case DestinationKind.WEBHOOK:
            body = write_alarm_event(context, envelope.key, envelope.identity.date)
            return _message("application/json", body, envelope, ".json")
        case _:
            subject, text = _render_text(templates, context)
            return _message("text/plain", f"{subject}\n\n{text}\n".encode(), envelope, ".txt")


def _message(media_type: str, body: bytes, envelope: Envelope, suffix: str) -> Message:
    return Message(media_type, body, envelope.key, f"alarm-{envelope.key}{suffix}")


def _render_text(templates: Templates, context: AlarmContext) -> tuple[str, str]:
    lines = [clean_markup(line) for line in templates.render(MAIL, context).strip().split("\n")]
    subject, text = lines[0], "\n".join(lines[1:]).strip()
    return clean_text(subject), text


def _write_mail(templates: Templates, context: AlarmContext, envelope: Envelope) -> bytes:
    subject, text = _render_text(templates, context)
    identity = envelope.identity
    fields = [
        ("Date", format_datetime(identity.date)),
        ("From", write_mailbox(identity.from_name, identity.from_address, field="From")),
        ("To", check_address(envelope.destination.address)),
        ("Subject", write_subject(subject)),
        ("Message-ID", f"<{check_atom(envelope.key)}@{check_atom(identity.domain)}>"),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
        ("Content-Language", "en"),
    ]
    return write_plain_mail(fields, flow_text(text) + "\n")


def _write_payload(templates: Templates, context: AlarmContext) -> dict[str, Any]:
    return make_payload(SLACK, compile_blocks(templates.render(SLACK, context)))
