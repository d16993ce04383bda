import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.secrets import redact, redact_field

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
    f"/p/{TOKEN}/query": "/p/***/query",
    f"/a/{TOKEN}": "/a/***",
    f"/k/{TOKEN}": "/k/***",
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
    assert "hush" not in redact(
        f"{before.replace('hush', '')} {secret} {after.replace('hush', '')}"
    )


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "poll.complete papers=412 seconds=0.9",
        "https://export.arxiv.org/api/query?search_query=cat:cs.PF&start=0",
        *(
            "https://arxiv.org/abs/2603.10026v2",
            "/var/lib/digest/digest.db",
            "2611.15012 matched perf, gpu",
        ),
        *("slack:#papers answered channel_not_found", ""),
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_fields_are_masked_by_name_and_by_what_they_hold() -> None:
    fields = {
        "to": "mailto:reader@example.org",
        "slack_token": "plain-hush",
        "tries": 3,
        "ok": True,
        "none": None,
        "all": ["reader@example.org", 5],
        "inner": {"password": "hush", "path": f"/u/{TOKEN}"},
    }
    assert redact_field("fields", fields) == {
        "to": "mailto:***@***",
        "slack_token": "***",
        "tries": 3,
        "ok": True,
        "none": None,
        "all": ["***@***", 5],
        "inner": {"password": "***", "path": "/u/***"},
    }
