"""An installation with everything around it on this machine, for the doctor to look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from digest.model.clock import SystemClock
from digest.store import open_store
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.loopback import Answer, LoopbackServer, answer_json
from tests.fakes.mail import MailSink
from tests.fakes.nameserver import NameServer
from tests.fakes.slack import TOKEN, SlackReceiver
from tests.fakes.workspace import SlackChannel

DOMAIN = "digest.hidden-institute.net"
CONFIG = f"""\
[arxiv]
contact = "contact@hidden-institute.net"
api_url = "{{arxiv}}/api/query"
oai_url = "{{arxiv}}/oai"

[mail]
from = "sender@{DOMAIN}"
smtp = "{{smtp}}"
ca_file = "{{ca_file}}"
dkim_selector = "spring"

[slack]
url = "{{slack}}"

[web]
base_url = "{{web}}"

[queries]
gpu = "ti:hiddenquery OR abs:hiddenword"

[webhooks.lab]
url = "{{web}}/hook"

[[subscriptions]]
name = "perf-team"
follow = ["gpu"]
to = ["slack:#hidden-channel", "mailto:reader@hidden-institute.net", "feed"]
"""
CHANNELS = ("hidden-channel", SlackChannel("C000LOUNGE", "hidden-lounge", is_member=False))
PRIVATE = ("hidden", "demo-password", TOKEN)
"""What stands in every address, channel, query and secret of it, and nowhere else."""

RECORDS = {
    DOMAIN: ["v=spf1 include:hidden-institute.net ~all", "another=record"],
    f"spring._domainkey.{DOMAIN}": [f"v=DKIM1; k=rsa; p={'MIIBIjANBgkqhkiG' * 24}"],
    "_dmarc.hidden-institute.net": ["v=DMARC1; p=none"],
}


@dataclass
class Clinic:
    """What lies in the folder, and what is around it."""

    folder: Path
    arxiv: DemoArxiv
    mail: MailSink
    slack: SlackReceiver
    dns: NameServer
    answers: dict[str, Answer]

    @property
    def environ(self) -> dict[str, str]:
        return {
            "DIGEST_SLACK_TOKEN": self.slack.token,
            "DIGEST_MAIL_PASSWORD": "demo-password",
            "DIGEST_WEBHOOKS_LAB_SECRET": "whsec_aGlkZGVuIGhpZGRlbiBoaWRkZW4gaGlkZGVu",
            "DIGEST_TEST_DNS": self.dns.address,
        }

    def edit(self, before: str, after: str) -> None:
        path = self.folder / "digest.toml"
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after), encoding="utf-8")


@contextmanager
def opened_clinic(folder: Path) -> Iterator[Clinic]:
    """Start everything, configure an installation that uses it, and make its database."""
    clock = SystemClock()
    answers = {"/livez": answer_json({"alive": True}), "/hook": Answer(b"", 202)}
    with (
        DemoArxiv(read_demo_papers(), clock) as arxiv,
        MailSink(starttls=True, login=("login@hidden-institute.net", "demo-password")) as mail,
        SlackReceiver(clock, channels=CHANNELS) as slack,
        NameServer(RECORDS) as dns,
        LoopbackServer(lambda request: answers.get(request.path, Answer(b"", 404))) as web,
    ):
        smtp = mail.url.replace("://", "://login%40hidden-institute.net@")
        text = CONFIG.format(
            arxiv=arxiv.url, smtp=smtp, ca_file=mail.certificate, slack=slack.url, web=web.url
        )
        (folder / "digest.toml").write_text(text, encoding="utf-8")
        open_store(f"sqlite:///{folder / 'digest.db'}", create=True).close()
        yield Clinic(folder, arxiv, mail, slack, dns, answers)
