"""`digest doctor`: each check says what is well and what to mend.

None stops another, and all that they say can be pasted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

from digest.inspect.doctor import inspect_domain
from digest.inspect.findings import Finding, Verdict
from tests.fakes.loopback import Answer, LoopbackServer
from tests.fakes.nameserver import NameServer
from tests.fakes.slack import TOKEN
from tests.integration.cli.conftest import Shell
from tests.integration.cli.examined import DOMAIN, PRIVATE, RECORDS, Examined, open_examined


@pytest.fixture
def examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Examined]:
    with open_examined(tmp_path) as examined:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # whose gate others hold
        for name, text in examined.environ.items():
            monkeypatch.setenv(name, text)
        yield examined


def examine(digest: Shell, *options: str, expect: int = 0) -> dict[str, tuple[str, str]]:
    """Return verdict and all words of each check; of several findings the worst."""
    found: dict[str, tuple[str, str]] = {}
    for one in digest("doctor", "--json", *options, expect=expect).json["checks"]:
        words = (one["verdict"], " ".join((one["said"], one["todo"], one["more"])))
        found[one["check"]] = max(
            found.get(one["check"], words), words, key=lambda it: list(Verdict).index(it[0])
        )
    return found


def test_nothing_is_sent_and_what_is_shared_shows_nothing_private(
    examined: Examined, digest: Shell
) -> None:
    for options in ((), ("--json",), ("--quick",)):
        said = digest("doctor", "--share", *options)
        assert [word for word in PRIVATE if word in said.out + said.err] == []
    assert (examined.mail.mails, examined.slack.messages) == ((), ())
    own = digest("doctor").out
    assert "hidden-channel" in own
    assert TOKEN not in own


def test_the_proxy_that_requests_go_through_is_named(
    examined: Examined, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "proxy" not in examine(digest, "--quick")
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:hush@proxy.hidden-institute.net:3128")
    examined.edit(f'url = "{examined.slack.url}"', "")
    said = "requests go through the proxy http://{}:3128, from HTTPS_PROXY"
    assert said.format("proxy.hidden-institute.net") in examine(digest, "--quick")["proxy"][1]
    assert said.format("<proxy>") in examine(digest, "--quick", "--share")["proxy"][1]


def test_whoever_lets_people_subscribe_is_told_what_is_missing(
    examined: Examined, digest: Shell
) -> None:
    examined.edit("base_url =", 'signup = "open"\n# base_url =')
    assert "web.base_url is missing" in examine(digest, "--quick", expect=1)["configuration"][1]


def test_trouble_everywhere_is_told_at_once_and_shows_nothing_private(
    examined: Examined, digest: Shell
) -> None:
    examined.edit('gpu = "ti:hiddenquery OR abs:hiddenword"', 'gpu = "ti:(hiddenquery OR"')
    examined.mail.login = ("login@hidden-institute.net", "another")
    examined.slack.trouble = "token_revoked"
    examined.dns.records = {DOMAIN: ["v=spf1 -all", "v=spf1 mx -all"]}
    examined.answers.clear()
    examined.edit(f"{examined.arxiv.url}/oai", "http://127.0.0.1:9/oai")
    (examined.folder / "digest.db").write_text("hidden" * 1_000)
    found = examine(digest, "--share", expect=1)
    troubled = {"queries", "database", "arXiv", "mail server", "SPF", "DKIM", "Slack", "base_url"}
    assert {name for name, (verdict, _) in found.items() if verdict == "problem"} == troubled
    assert found["DMARC"][0] == "warning"
    text = digest("doctor", "--share", expect=1).out
    assert [word for word in PRIVATE if word in text + str(found)] == []
    assert "queries.gpu: can't be read" in " ".join(text.split())
    assert "ti:(hiddenquery OR" in digest("doctor", expect=1).out


def test_a_file_that_cannot_be_used_is_told_without_its_values(
    examined: Examined, digest: Shell
) -> None:
    examined.edit('contact = "contact@hidden-institute.net"', 'contact = "hidden"\ncaps = 3')
    examined.edit(
        'to = ["slack:#hidden-channel"', 'kinds = ["hidden"]\nto = ["slack:hidden-channel"'
    )
    found = digest("doctor", "--share", "--json", expect=1).json["checks"]
    assert [one["check"] for one in found] == ["configuration"] * 4 + ["all else"]
    assert "hidden" not in str(found)
    assert "'hidden' is not one of new" in digest("doctor", expect=1).out


@pytest.mark.usefixtures("fresh")
def test_without_a_file_it_says_how_to_make_one(digest: Shell) -> None:
    assert "`digest init` makes one" in examine(digest, "--quick", expect=1)["configuration"][1]


def test_quick_asks_nobody(examined: Examined, digest: Shell) -> None:
    assert list(examine(digest, "--quick")) == ["configuration", "database", "disk", "templates"]
    assert examined.slack.calls == ()


@pytest.mark.usefixtures("examined")
def test_with_the_search_as_source_the_search_is_asked(
    digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGEST_ARXIV_SOURCE", "query")
    monkeypatch.setenv("DIGEST_ARXIV_OAI_URL", "http://127.0.0.1:9/oai")
    assert examine(digest)["arXiv"][0] == "ok"


@pytest.mark.usefixtures("examined")
@pytest.mark.parametrize("setting", ["api_url", "oai_url"])
@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "https://new.example/api/query?search_query=x"),
        (302, "https://127.0.0.1/api"),
        (308, "/new/query?x=1"),
    ],
)
def test_an_interface_of_arxiv_that_has_moved_is_told_with_its_setting(
    digest: Shell, monkeypatch: pytest.MonkeyPatch, setting: str, status: int, location: str
) -> None:
    with LoopbackServer(Answer(b"moved", status, headers=(("Location", location),))) as server:
        monkeypatch.setenv(f"DIGEST_ARXIV_{setting.upper()}", f"{server.url}/old")
        verdict, words = examine(digest, expect=1)["arXiv"]
        there = urljoin(server.url, location).partition("?")[0]
        assert len(server.visits) == 1
    assert verdict == "problem"
    assert f"arXiv now answers at {there} ({status})" in words
    assert f"Correct {setting} under [arxiv], {server.url}/old" in words


def test_feeds_without_an_address_are_named(examined: Examined, digest: Shell) -> None:
    examined.edit("[web]\nbase_url", "[web]\n# base_url")
    found = examine(digest, "--quick")
    assert (found["feeds"][0], "perf-team" in found["feeds"][1]) == ("warning", True)


def test_a_database_that_is_not_there_yet_is_told(examined: Examined, digest: Shell) -> None:
    (examined.folder / "digest.db").unlink()
    assert examine(digest, "--quick")["database"][0] == "warning"
    assert not (examined.folder / "digest.db").exists()


def test_own_templates_are_rendered(examined: Examined, digest: Shell) -> None:
    examined.edit("[arxiv]", 'templates = "mine"\n[arxiv]')
    own = examined.folder / "mine" / "slack"
    own.mkdir(parents=True)
    (own / "digest.txt").write_text(
        "fallback: x\n\n{{ digest.title }}\n{{ nobody }}\n", encoding="utf-8"
    )
    verdict, words = examine(digest, "--quick", expect=1)["templates"]
    assert (verdict, "mine/slack/digest.txt, line 4: there is no 'nobody' here" in words) == (
        "problem",
        True,
    )
    assert "It sees digest, groups, in_thread" in words
    (own / "digest.txt").rename(own / "digst.txt")
    verdict, words = examine(digest, "--quick")["templates"]
    assert verdict == "warning"
    assert "slack/digst.txt" in words
    assert "Did you mean 'slack/digest.txt'?" in words


def test_a_mail_template_that_changes_a_readers_link_is_named(
    examined: Examined, digest: Shell
) -> None:
    examined.edit("[arxiv]", 'templates = "mine"\n[arxiv]')
    own = examined.folder / "mine" / "email" / "digest.html"
    own.parent.mkdir(parents=True)
    foot = "{{ links.unsubscribe | upper }}"
    own.write_text(
        '{% extends "default:email/digest.html" %}\n{% block foot %}\n' + foot + "{% endblock %}"
    )
    verdict, words = examine(digest, "--quick")["templates"]
    assert verdict == "warning"
    assert words.startswith("email/digest.html, line 3 does more with a reader's own address")


@pytest.mark.usefixtures("examined")
def test_a_mistake_inside_a_check_is_told_and_stops_no_other(
    digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_config: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("digest.cli.doctor.check_disk", fail)
    found = examine(digest, "--quick", expect=1)
    assert "ZeroDivisionError" in found["disk"][1]
    assert found["templates"][0] == "ok"


def test_a_test_goes_to_alarms_webhooks_and_places_named_and_to_no_reader(
    examined: Examined, digest: Shell
) -> None:
    examined.edit("[slack]", '[alarms]\nto = "mailto:ops@hidden-institute.net"\n\n[slack]')
    assert examine(digest, "--quick", "--send")["test message"][0] == "ok"
    (mail,) = examined.mail.mails
    assert mail.recipients == ("ops@hidden-institute.net",)
    assert "This is a test. Nothing is wrong." in mail.message.get_content()
    assert examined.slack.messages == ()
    digest("doctor", "--quick", "--send", "--to", "slack:#hidden-channel")
    assert len(examined.slack.messages) == 1
    examined.answers["/hook"] = Answer(b"who are you?", 401)
    verdict, words = examine(digest, "--quick", "--share", "--send", expect=1)["test message"]
    assert (verdict, "401" in words, "hidden" in words) == ("problem", True, False)


@pytest.mark.parametrize(
    "query",
    [
        "secretword:x",
        "http://export.arxiv.org/api/query?search_query=au:secretname",
        "https://arxiv.org/search/?query=secretname&searchtype=author",
        "https://arxiv.org/a/secretname_j_1",
        "abs:secretword or write OR kinds AND cat:cs.PF",
    ],
)
def test_of_a_query_that_is_shared_no_word_is_shown(
    examined: Examined, digest: Shell, query: str
) -> None:
    examined.edit("[queries]", f'[queries]\nmine = "{query}"')
    expect = int(":x" in query)
    assert "secret" not in digest("doctor", "--quick", "--share", expect=expect).out
    assert "…" not in digest("doctor", "--quick", expect=expect).out


def test_a_sign_of_life_is_tried_too(examined: Examined, digest: Shell) -> None:
    examined.edit("[slack]", '[alarms]\nping_url = "http://127.0.0.1:9/hidden"\n\n[slack]')
    verdict, words = examine(digest, "--quick", "--share", "--send", expect=1)["sign of life"]
    assert (verdict, "hidden" in words) == ("problem", False)


def test_with_nobody_to_send_to_it_says_how_to_name_somebody(
    examined: Examined, digest: Shell
) -> None:
    text = (examined.folder / "digest.toml").read_text(encoding="utf-8")
    hook = text[text.index("[webhooks.lab]") : text.index("[[subscriptions]]")]
    examined.edit(hook, "")
    assert "alarms.to" in examine(digest, "--quick", "--send")["test message"][1]
    assert "Add --send" in digest("doctor", "--to", "mailto:a@example.org", expect=2).err


def inspect(
    records: dict[str, list[str]],
    domain: str = DOMAIN,
    *,
    selector: str = "spring",
    is_silent: bool = False,
) -> dict[str, Finding]:
    with NameServer(records, is_silent=is_silent) as dns:
        host, _, port = dns.address.partition(":")
        server = (host, int(port))
        found = inspect_domain(domain, selector=selector, mail_host="smtp.gmail.com", server=server)
        return {one.check: one for one in found}


def test_the_policy_of_the_domain_above_counts_and_a_nearer_one_beats_it() -> None:
    assert "p=none" in inspect(RECORDS)["DMARC"].more
    nearer = RECORDS | {f"_dmarc.{DOMAIN}": ["v=DMARC1; p=reject"]}
    assert "p=reject" in inspect(nearer)["DMARC"].more


def test_a_known_provider_names_the_key_of_a_domain_and_signs_for_its_own() -> None:
    key = RECORDS[f"spring._domainkey.{DOMAIN}"]
    assert (
        inspect({DOMAIN: [], f"google._domainkey.{DOMAIN}": key}, selector="")["DKIM"].verdict
        is Verdict.OK
    )
    assert inspect({"gmail.com": []}, "gmail.com", selector="")["DKIM"].verdict is Verdict.OK


def test_what_is_missing_is_told_with_what_to_publish() -> None:
    found = inspect({DOMAIN: ["v=spf10 no", "v=spf1"[:5]]})
    assert f"at {DOMAIN}: v=spf1 include:_spf.google.com ~all" in found["SPF"].todo
    assert f"at _dmarc.{DOMAIN}: v=DMARC1; p=none" in found["DMARC"].todo
    assert found["DKIM"].verdict is Verdict.PROBLEM


def test_a_revoked_key_and_two_policies_are_problems() -> None:
    spoilt = {
        f"spring._domainkey.{DOMAIN}": ["v=DKIM1; p="],
        f"_dmarc.{DOMAIN}": ["v=DMARC1; p=none", "v=DMARC1;p=x"],
    }
    found = inspect(RECORDS | spoilt)
    assert (found["DKIM"].verdict, "revoked" in found["DKIM"].said) == (Verdict.PROBLEM, True)
    assert (found["DMARC"].verdict, "2 records" in found["DMARC"].said) == (Verdict.PROBLEM, True)


def test_a_domain_that_is_not_there_is_told_apart_from_dns_that_is_not() -> None:
    assert inspect(RECORDS, "nowhere.net")["DNS"].verdict is Verdict.PROBLEM
    assert inspect({}, "nowhere.net")["DNS"].verdict is Verdict.UNCHECKED


def test_dns_that_never_answers_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("digest.inspect.doctor._DNS_SECONDS", 0.3)
    (found,) = inspect(RECORDS, is_silent=True).values()
    assert (found.verdict, "not checked" in found.said) == (Verdict.UNCHECKED, True)
