import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.serve.telemetry import RedactionFilter, redact

TOKEN = "hush9_kQ-3vB7nM2pLw8Rt"
SECRETS = {
    "xoxb-123-456-hush": "xoxb-***",
    "xoxp-1-2-3-hush": "xoxp-***",
    "xoxe.xoxp-1-hush": "xoxe.xoxp-***",
    "xapp-1-A0001-2-hush": "xapp-***",
    "https://hooks.slack.com/services/T0001/B0002/hush": "https://hooks.slack.com/services/***",
    "https://hooks.slack-gov.com/services/T0001/B0002/hush": "https://hooks.slack-gov.com/services/***",
    "hooks.slack.com/workflows/T1/A2/3/hush": "hooks.slack.com/workflows/***",
    "POST /services/T0001/B0002/hush": "POST /services/***",
    f"https://digest.example.org/f/{TOKEN}.atom": "https://digest.example.org/f/***",
    f"https://digest.example.org/u/{TOKEN}": "https://digest.example.org/u/***",
    f"/c/{TOKEN}": "/c/***",
    f"/d/{TOKEN}": "/d/***",
    "hush@example.org": "***@***",
    "a.hush+tag@sub.example.org": "***@***",
    "hush%40example.org": "***@***",
    "jürgen.hush@bücher.example": "***@***",
    "postgresql://digest:hush@db.example.org/d": "postgresql://***@db.example.org/d",
    "postgresql://digest:hush@/hush:@db.example.org/d": "postgresql://***@db.example.org/d",
    "smtps://hush@mx.example.org:465": "smtps://***@mx.example.org:465",
    "Authorization: Bearer abc.hush-ghi": "Authorization: Bearer ***",
    "?password=hush&sslmode=require": "?password=***&sslmode=require",
}
AROUND = st.text(st.characters(codec="utf-8", exclude_characters="@%"), max_size=20)


@pytest.mark.parametrize(("secret", "masked"), SECRETS.items())
def test_a_secret_is_masked_and_what_it_was_stays_readable(secret: str, masked: str) -> None:
    assert redact(secret) == masked
    assert redact(f"sent to {secret}: 250 OK") == f"sent to {masked}: 250 OK"


@given(AROUND, st.sampled_from(sorted(SECRETS)), AROUND)
def test_no_secret_survives_whatever_stands_around_it(before: str, secret: str, after: str) -> None:
    assert "hush" not in redact(f"{before.replace('hush', '')} {secret} {after.replace('hush', '')}")


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "poll.complete papers=412 seconds=0.9",
        "https://export.arxiv.org/api/query?search_query=cat:cs.PF&start=0",
        "https://arxiv.org/abs/2603.10026v2",
        "/var/lib/digest/digest.db",
        "2611.15012 matched perf, gpu",
        "slack:#papers answered channel_not_found",
        "",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def make_record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    record = logging.LogRecord("digest.deliver", logging.INFO, "x.py", 1, message, args, None)
    record.__dict__.update(extra)
    return record


def test_the_filter_masks_message_arguments_and_fields_and_lets_the_record_through() -> None:
    fields = {
        "to": "mailto:reader@example.org",
        "slack_token": "plain-hush",
        "tries": 3,
        "ok": True,
        "none": None,
        "all": ["reader@example.org", 5],
        "inner": {"password": "hush", "path": f"/u/{TOKEN}"},
    }
    record = make_record("sending to %s", "reader@example.org", fields=fields)
    assert RedactionFilter().filter(record)
    assert record.getMessage() == "sending to ***@***"
    assert record.__dict__["fields"] == {
        "to": "mailto:***@***",
        "slack_token": "***",
        "tries": 3,
        "ok": True,
        "none": None,
        "all": ["***@***", 5],
        "inner": {"password": "***", "path": "/u/***"},
    }


def test_the_filter_masks_exceptions_with_all_their_causes_and_stacks() -> None:
    error = OSError("xoxb-1-2-abc was refused")
    error.__cause__ = ValueError("no such mailbox reader@example.org")
    record = make_record("failed", stack_info="Stack of reader@example.org")
    record.exc_info = (OSError, error, None)
    assert RedactionFilter().filter(record)
    assert record.exc_info is None
    assert "no such mailbox ***@***" in str(record.exc_text)
    assert "xoxb-*** was refused" in str(record.exc_text)
    assert record.stack_info == "Stack of ***@***"


def test_a_log_call_whose_arguments_do_not_fit_is_written_all_the_same() -> None:
    record = make_record("%d papers", "reader@example.org")
    assert RedactionFilter().filter(record)
    assert record.getMessage() == "%d papers ('***@***',)"
