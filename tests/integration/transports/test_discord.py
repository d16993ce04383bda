"""Discord's webhooks over real connections: what is posted, what the answers mean, how a digest looks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from digest.config import load_config
from digest.deliver.transports.discord import DiscordTransport
from digest.model.errors import ConfigurationError, DeliveryError
from digest.model.messages import Links, Message
from digest.model.subscriptions import Destination, DestinationKind
from digest.render import Renderer
from digest.render.digests import LONGEST_POST, write_post
from digest.render.samples import SAMPLE_LINKS, SAMPLES
from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request

TEAM = Destination(DestinationKind.DISCORD, "team")
MESSAGE = Message("text/markdown", "Pınar’s nine papers @everyone".encode(), "key-1")
URL = "https://discord.com/api/webhooks/1100000000000000001/abc-DEF_123"


def _send(answer: Answer, message: Message = MESSAGE) -> tuple[Request, str]:
    with LoopbackServer(answer) as server:
        receipt = DiscordTransport(hooks={"team": f"{server.url}/hook"}, timeout=5).send(message, TEAM)
    (visit,) = server.visits
    return visit, receipt.remote_id


def _fail(answer: Answer) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        _send(answer)
    return caught.value


def test_a_message_is_posted_once_as_text_that_notifies_nobody_and_its_id_is_kept() -> None:
    visit, remote_id = _send(Answer(b'{"id": "1234", "content": "x"}'))
    assert visit.params == (("wait", "true"),)
    content = {"content": "Pınar’s nine papers @everyone", "allowed_mentions": {"parse": []}}
    assert json.loads(visit.body) == content
    assert remote_id == "1234"


@pytest.mark.parametrize("body", [b"", b"[]", b"no json"])
def test_an_answer_without_an_id_is_taken_all_the_same(body: bytes) -> None:
    assert _send(Answer(body))[1] == ""


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_webhook_that_is_gone_is_permanent_and_says_what_to_do(status: int) -> None:
    failure = _fail(Answer(b'{"message": "Unknown Webhook", "code": 10015}', status))
    assert (failure.permanent, failure.ambiguous, failure.whole_transport) == (True, False, False)
    assert "Make a new webhook" in failure.hint


def test_a_refused_message_is_permanent_and_repeats_what_discord_says() -> None:
    failure = _fail(Answer(b'{"message": "Invalid Form Body", "code": 50035}', 400))
    assert (failure.permanent, failure.ambiguous) == (True, False)
    assert "Invalid Form Body" in failure.hint


def test_a_wish_to_wait_is_certain_and_kept() -> None:
    failure = _fail(Answer(b'{"retry_after": 7.5}', 429, headers=(("Retry-After", "8"),)))
    assert (failure.permanent, failure.ambiguous, failure.retry_after) == (False, False, 8.0)


@pytest.mark.parametrize("answer", [Answer(b"", 502), Answer(b"", ending=Ending.DROP)])
def test_a_lost_answer_may_have_been_a_message(answer: Answer) -> None:
    failure = _fail(answer)
    assert (failure.permanent, failure.ambiguous) == (False, True)


@pytest.mark.parametrize("links", [SAMPLE_LINKS, Links()])
def test_every_sample_digest_fits_into_one_message(links: Links) -> None:
    templates = Renderer().templates
    for digest in SAMPLES:
        text = write_post(templates, "discord/digest.md", digest, links)
        assert text.startswith("### ")
        assert len(text) <= LONGEST_POST


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        (URL, True),
        (URL.replace("discord.com", "discordapp.com"), True),
        (URL.replace("discord.com", "discord.com.example.org"), False),
        (URL.replace("https", "http"), False),
        (f"{URL}?wait=true", False),
    ],
)
def test_its_address_is_discords_own(tmp_path: Path, url: str, *, is_taken: bool) -> None:
    path = tmp_path / "digest.toml"
    path.write_text(f'[arxiv]\ncontact = "ops@example.org"\n[discord]\nteam = "{url}"\n')
    if is_taken:
        assert load_config(path, {}).incoming[DestinationKind.DISCORD] == {"team": url}
        return
    with pytest.raises(ConfigurationError) as caught:
        load_config(path, {})
    assert "abc-DEF_123" not in str(caught.value)
