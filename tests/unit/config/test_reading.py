from datetime import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.config import Config, load_config, show_settings
from digest.config.declarations import Setting, variable_of
from digest.config.display import write_toml
from digest.config.settings import SETTINGS
from digest.model.announcements import Kind
from digest.model.cadences import Cadence, CadenceKind
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError
from digest.model.subscriptions import SavedQuery, WhenEmpty
from tests.unit.config.conftest import Load, Refuse

WHOLE = """\
templates = "mine"

[arxiv]
contact = "ops@example.org"
source = "query"

[store]
url = "sqlite:///state/digest.db"

[mail]
from = "digest@example.org"
smtp = "smtp://localhost:25"

[slack]
url = "http://127.0.0.1:9/api"

[web]
base_url = "https://digest.example.org/"

[defaults]
when = "weekdays at 09:00 Europe/Berlin"
kinds = ["replaced", "new"]
when_empty = "note"
show = 10

[queries]
perf = "cat:cs.PF"
gpu  = "cat:cs.PF AND abs:GPU"

[[subscriptions]]
name = "perf-team"
follow = ["perf", "gpu"]
to = "slack:#papers"

[[subscriptions]]
name = "gpu-mail"
follow = ["gpu"]
to = ["mailto:Reader@Example.org", "feed"]
when = "daily at 07:30 Europe/Berlin"
show = "all"
look_back = "0 days"
title = "GPUs"

[[subscriptions]]
name = "gpu-static"
follow = ["gpu"]
to = "file:feeds/gpu.atom"
"""


def test_a_whole_file_is_read_into_what_it_says(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    config = load(WHOLE, top="", DIGEST_SLACK_TOKEN="xoxb-1")
    assert config.arxiv.source == "query"
    assert config.store.url == f"sqlite:///{tmp_path}/state/digest.db"
    assert config.mail.from_address == "digest@example.org"
    assert config.slack.url == "http://127.0.0.1:9/api/"
    assert config.web.base_url == "https://digest.example.org"
    assert config.web.host == "digest.example.org"
    assert config.templates == tmp_path / "mine"
    assert config.queries == (
        SavedQuery("perf", "cat:cs.PF"),
        SavedQuery("gpu", "cat:cs.PF AND abs:GPU"),
    )
    assert config.defaults.kinds == (Kind.NEW, Kind.REPLACEMENT)
    assert config.warnings == ()
    assert (config.path, config.folder) == (tmp_path / "digest.toml", tmp_path)


def test_a_subscription_inherits_the_defaults_and_may_say_otherwise(
    load: Load, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    team, mail, static = load(WHOLE, top="", DIGEST_SLACK_TOKEN="xoxb-1").subscriptions
    weekdays = Cadence(CadenceKind.CLOCK, frozenset(range(5)), time(9), "Europe/Berlin")
    assert (team.cadence, team.kinds, team.when_empty, team.show, team.look_back, team.title) == (
        weekdays, (Kind.NEW, Kind.REPLACEMENT), WhenEmpty.NOTE, 10, 7, "Perf team",
    )  # fmt: skip
    assert (mail.cadence, mail.show, mail.look_back, mail.title) == (
        Cadence(CadenceKind.CLOCK, frozenset(range(7)), time(7, 30), "Europe/Berlin"), None, 0, "GPUs",
    )  # fmt: skip
    assert team.destinations == (Destination(DestinationKind.SLACK, "#papers"),)
    assert mail.destinations == (
        Destination(DestinationKind.MAIL, "reader@example.org"),
        Destination(DestinationKind.FEED),
    )
    assert static.destinations == (Destination(DestinationKind.FILE, "feeds/gpu.atom"),)


def test_a_file_that_says_nothing_gets_arxivs_and_slacks_real_addresses(load: Load) -> None:
    config = load()
    assert config.arxiv.api_url == "https://export.arxiv.org/api/query"
    assert config.arxiv.oai_url == "https://oaipmh.arxiv.org/oai"
    assert config.slack.url == "https://slack.com/api/"
    assert config.mail.smtp == "smtp://localhost:25"
    assert (config.web.bind, config.web.metrics_bind) == ("127.0.0.1:8000", "")
    assert config.templates is None
    assert config.mail.ca_file is None


def test_without_a_file_defaults_and_environment_make_a_configuration(tmp_path: Path) -> None:
    config = load_config(None, {"DIGEST_ARXIV_SOURCE": "query"}, folder=tmp_path)
    assert config.arxiv.source == "query"
    assert config.store.url == f"sqlite:///{tmp_path}/digest.db"
    assert (config.path, config.queries, config.subscriptions) == (None, (), ())


def test_the_environment_beats_the_file_and_the_file_beats_the_default(load: Load) -> None:
    assert load('[mail]\nfrom_name = "File"').mail.from_name == "File"
    config = load('[mail]\nfrom_name = "File"', DIGEST_MAIL_FROM_NAME="Environment")
    assert config.mail.from_name == "Environment"
    assert load().mail.from_name == "Digest"


def test_an_empty_variable_counts_as_not_set(load: Load) -> None:
    config = load(
        '[mail]\nfrom_name = "File"', DIGEST_MAIL_FROM_NAME="", DIGEST_SLACK_TOKEN_FILE=" "
    )
    assert config.mail.from_name == "File"
    assert config.slack.token == ""


def test_lists_and_numbers_can_be_written_in_variables(load: Load) -> None:
    config = load(
        DIGEST_DEFAULTS_KINDS="new, withdrawn",
        DIGEST_DEFAULTS_SHOW="5",
        DIGEST_DEFAULTS_LOOK_BACK="0 days",
        DIGEST_DEFAULTS_WHEN="mondays at 08:00 UTC",
    )
    assert config.defaults.kinds == (Kind.NEW, Kind.WITHDRAWAL)
    assert (config.defaults.show, config.defaults.look_back) == (5, 0)
    assert str(config.defaults.when) == "mondays at 08:00 UTC"
    assert load(DIGEST_DEFAULTS_SHOW="all").defaults.show is None


@pytest.mark.parametrize(
    ("written", "days"), [('"90 days"', 90), ('"never"', 0), ("0", 0), ('"0 days"', 0)]
)
def test_papers_that_matched_nothing_are_kept_as_long_as_is_said(
    load: Load, written: str, days: int
) -> None:
    assert load(f"[store]\nforget_unmatched_after = {written}").store.forget_unmatched_after == days
    assert ("90 days" if days else "never") in str(
        show_settings(load(f"[store]\nforget_unmatched_after = {written}"))
    )
    assert (
        load(DIGEST_STORE_FORGET_UNMATCHED_AFTER=written.strip('"')).store.forget_unmatched_after
        == days
    )
    assert load().store.forget_unmatched_after == 90


def test_every_default_can_be_read_and_every_setting_has_its_field_and_variable(load: Load) -> None:
    config = load()
    for setting in SETTINGS:
        owner = getattr(config, setting.table) if setting.table else config
        assert hasattr(owner, setting.field)
        assert variable_of(setting.key) == "DIGEST_" + setting.key.replace(".", "_").upper()
        assert setting.help.endswith(".")


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ('[mial]\nfrom = "a@example.org"', "mial: there is no such table", "Did you mean 'mail'?"),
        (
            '[mail]\nfrmo = "a@example.org"',
            "mail.frmo: there is no such setting",
            "Did you mean 'from'?",
        ),
        (
            '[slack]\nwebhook = "x"',
            "slack.webhook: there is no such setting",
            "Did you mean 'webhooks'?",
        ),
        ("[queries]\nperf = 5", "queries.perf: must be a query in quotes", "perf = "),
        ('[queries]\nPerf = "x"', "queries.Perf: 'Perf' can't be a name", "small letters"),
        ("[mail]\nfrom = 5", "mail.from: must be text in quotes, not a whole number", ""),
        (
            '[mail]\nfrom = "nobody"',
            "mail.from: 'nobody' is not an e-mail address",
            "reader@example.org",
        ),
        (
            '[mail]\nsmtp = "localhost:25"',
            "mail.smtp: 'localhost:25' is not a mail server",
            "smtp://host:25",
        ),
        (
            '[store]\nurl = "mysql://h/d"',
            "store.url: 'mysql://h/d' is not a database",
            "sqlite:///digest.db",
        ),
        ('[store]\nurl = "sqlite:///:memory:"', "names no file", "sqlite:///digest.db"),
        ('[web]\nbase_url = "http://digest.example.org"', "must start with https://", "127.0.0.1"),
        ('[web]\nbind = "8000"', "web.bind: '8000' is not a host and port", "127.0.0.1:8000"),
        (
            '[slack]\nurl = "http://slack.example.org/api/"',
            "slack.url: 'http://slack",
            "http:// is allowed",
        ),
        (
            '[defaults]\nwhen = "at noon"',
            "defaults.when: 'at noon' is not a time",
            "weekdays at 09:00",
        ),
        (
            '[defaults]\nkinds = ["newest"]',
            "'newest' is not one of new, cross-listed",
            "Did you mean 'new'?",
        ),
        (
            '[defaults]\nkinds = ["withdrawal"]',
            "'withdrawal' is not one of new, cross-listed",
            "Did you mean 'withdrawn'?",
        ),
        ("[defaults]\nkinds = []", "names no kind", "cross-listed"),
        ("[defaults]\nshow = 0", "defaults.show: must be a whole number from 1", ""),
        ("[defaults]\nshow = true", "defaults.show: must be a whole number from 1", ""),
        ('[defaults]\nshow = "40"', "defaults.show: must be a whole number from 1", ""),
        ("[store]\nforget_unmatched_after = false", "must be a time of 0 to 365 days", ""),
        ("[defaults]\nlook_back = -1", "defaults.look_back: must be a time of 0 to 365 days", ""),
        ('[defaults]\nwhen_empty = "sleep"', "'sleep' is not one of skip, note, always", ""),
        ("mail = 5", "arxiv.mail: there is no such setting", "[arxiv] takes"),
        ("[[mail]]", "mail: must be a table, not a list", "Write [mail]."),
        ("[queries]\n[queries.perf]", "queries.perf: must be a query in quotes, not a table", ""),
        ("[slack]\nwebhooks = 5", "slack.webhooks: must be a table, not", "[slack.webhooks]"),
        (
            "[subscriptions]",
            "subscriptions: must be a list of tables, not a table",
            "[[subscriptions]]",
        ),
        ('[mail]\nfrom_name = "a\\nBcc: x"', "mail.from_name: must be one line", ""),
        ('[mail]\nca_file = "nowhere.pem"', "mail.ca_file: there is no file", "PEM"),
    ],
)
def test_a_mistake_is_named_with_its_file_key_and_mending(
    refuse: Refuse, text: str, words: str, hint: str
) -> None:
    error = refuse(text)
    assert "digest.toml: " in error.message
    assert words in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("top", "words", "hint"),
    [
        ('smtp = "smtp://localhost"\n', "smtp: there is no such setting", "Put it below [mail]."),
        (
            'test_clock = "http://127.0.0.1:1/"\n',
            "test_clock: there is no such setting",
            "DIGEST_TEST_CLOCK",
        ),
        (
            "[else]\n",
            "else: there is no such table",
            "There are templates, arxiv, store, network, mail, slack",
        ),
        ('templates = "nowhere"\n', "templates: there is no folder", "remove `templates`"),
        ("mail = 5\n", "mail: must be a table, not a whole number", "Write [mail]."),
        ("arxiv = 5\n", "arxiv: must be a table", "Write [arxiv]."),
    ],
)
def test_a_key_in_the_wrong_place_is_told_where_it_belongs(
    refuse: Refuse, top: str, words: str, hint: str
) -> None:
    message = refuse("", top=top, DIGEST_ARXIV_CONTACT="ops@example.org")
    assert words in message.message
    assert hint in message.hint


def test_everything_that_is_wrong_is_told_at_once(refuse: Refuse) -> None:
    error = refuse(
        '[mail]\nfrom = "nobody"\nspeed = 1\n[defaults]\nshow = 0\nwhen = "never"\n',
        DIGEST_WEB_BIND="everywhere",
    )
    first, *others = [line.strip() for line in error.message.splitlines()]
    assert first.endswith("digest.toml: 5 things to correct")
    for place in ("mail.from", "mail.speed", "defaults.show", "defaults.when", "DIGEST_WEB_BIND"):
        assert [place] == [one.partition(":")[0] for one in others if one.startswith(f"{place}: ")]
    assert "Write 127.0.0.1:8000" in error.message
    assert "digest doctor --quick" in error.hint


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[mail]\nfrom = digest@example.org", "line 2", "quotes"),
        ('[queries]\na = "x"\na = "y"\n', "line 3", "twice"),
        ("[mail]\n[mail]\n", "line 2", "twice"),
        ("[mail", "end of document", "quotes"),
        (
            'follow = "cat:cs.PF\nto = "feed"\n',
            'a text without a " at its end (at line 1',
            "quotes",
        ),
        (
            r'library = "C:\Users\me\lab.bib"',
            "line 1",
            r"single quotes: library = 'C:\papers\lab.bib'",
        ),
        (r'library = ["D:\papers\lab.bib"]', "line 1", "single quotes"),
    ],
)
def test_a_slip_of_syntax_is_shown_with_its_line(
    refuse: Refuse, text: str, line: str, hint: str
) -> None:
    error = refuse(text, top="")
    assert "digest.toml: " in error.message
    assert line in error.message
    assert hint in error.hint


def test_a_missing_file_points_at_digest_init(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no .*digest\.toml") as caught:
        load_config(tmp_path / "digest.toml", {})
    assert "digest init" in caught.value.hint


def test_a_folder_in_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read: Is a directory"):
        load_config(tmp_path, {})


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "digest.toml"
    path.write_bytes("# first\n# Zoë\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"digest\.toml is not UTF-8"):
        load_config(path, {})


def test_a_byte_order_mark_and_the_line_ends_of_windows_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "digest.toml"
    path.write_bytes(
        b'\xef\xbb\xbf[arxiv]\r\ncontact = "ops@example.org"\r\n[mail]\r\nfrom_name = "D"\r\n'
    )
    config = load_config(path, {})
    assert config.origins["mail.from_name"] == "digest.toml"


def test_a_saved_query_that_cannot_be_understood_is_taken_all_the_same(load: Load) -> None:
    assert load('[queries]\nbad = "cat:( AND"\n').queries == (SavedQuery("bad", "cat:( AND"),)


def test_nothing_secret_is_in_the_printed_form_of_a_configuration(load: Load) -> None:
    config = load(
        DIGEST_MAIL_PASSWORD="hush-1",
        DIGEST_MAIL_SMTP="smtps://digest@mx.example.org",
        DIGEST_SLACK_TOKEN="hush-2",
        DIGEST_ALARMS_PING_URL="https://watch.example.org/hush-3",
        DIGEST_STORE_URL="postgresql://digest:hush-4@db.example.org/digest",
    )
    assert "hush" not in repr(config)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None
)
@given(
    st.recursive(
        st.one_of(
            st.integers(),
            st.booleans(),
            st.text(st.characters(codec="ascii", exclude_categories=["Cc"])),
        ),
        lambda inner: st.lists(inner, max_size=2),
        max_leaves=3,
    ),
    st.sampled_from([setting for setting in SETTINGS if setting.table]),
)
def test_any_value_of_any_setting_is_read_or_refused_within_its_table(
    load: Load, value: object, setting: Setting
) -> None:
    top = f"[{setting.table}]\n{setting.name} = {write_toml(value)}\n"
    environ = {} if setting.table == "arxiv" else {"DIGEST_ARXIV_CONTACT": "ops@example.org"}
    try:
        config: Config | None = load("", top=top, **environ)
        refusal = ""
    except ConfigurationError as error:
        config = None
        refusal = error.message
    if config is None:
        assert f" {setting.table}." in refusal
    else:
        assert config.origins[setting.key] == "digest.toml"
