"""Saved queries and subscriptions changed by command.

What `digest.toml` says afterwards, and what is kept.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from digest.config import load_config
from digest.config.starter import make_name
from digest.query import parse_query
from digest.query.description import guess_person, name_query
from digest.serve.installation import keep_beating, open_site
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World
from tests.terminal import hold_dialogue

QUERY = "cat:cs.DC AND abs:scheduling"
MAIL = "mailto:you@example.org"
OWN = f"""\
# mine
[arxiv]
contact = "you@example.org"
[mail]
from = "you@example.org"

[queries]
gpu = "abs:GPU" # the first

[[subscriptions]]
name = "gpu"
follow = ["gpu"]
to = "{MAIL}"
when = "daily at 07:30 Europe/Berlin"
"""


@pytest.fixture
def file(fresh: Path) -> Path:
    path = fresh / "digest.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def find(path: Path, name: str) -> dict[str, Any]:
    subscriptions = read(path)["subscriptions"]
    return next(dict(one) for one in subscriptions if one["name"] == name)


def test_what_was_tried_is_saved_with_a_subscription_after_its_digest(
    world: World, digest: Shell
) -> None:
    said = digest("try", QUERY, "--save", "scheduling", "--to", "you@example.org", "--to", "feed")
    assert said.out.index("Tail latency below") < said.out.index("+follow =")
    saved = find(world.folder / "digest.toml", "scheduling")
    assert (saved["follow"], saved["to"]) == (QUERY, [MAIL, "feed"])
    digest("run")
    assert "scheduling" in digest("subscription", "list").out


def test_what_was_tried_and_cannot_be_saved_is_said_before_arxiv_is_asked(
    world: World, digest: Shell
) -> None:
    asked = len(world.arxiv.requests)
    said = digest("try", QUERY, "--save", "scheduling", expect=2)
    assert "--to is missing" in said.err
    assert (
        "two subscriptions"
        in digest("try", QUERY, "--save", "perf-team", "--to", "feed", expect=2).err
    )
    assert "Add --save NAME" in digest("try", QUERY, "--to", "feed", expect=2).err
    assert len(world.arxiv.requests) == asked


def test_a_try_ends_in_how_to_save_it(
    world: World, digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        digest("try", QUERY).lines[-1]
        == "To get new ones from now on, add --save NAME to this command."
    )
    monkeypatch.setenv("DIGEST_ARXIV_API_URL", world.arxiv.api_url)
    monkeypatch.setenv("DIGEST_ARXIV_OAI_URL", world.arxiv.oai_url)
    monkeypatch.setenv("DIGEST_SLACK_URL", world.slack.url)
    (world.folder / "digest.toml").unlink()
    assert f"digest init --query '{QUERY}'`" in digest("try", QUERY).lines[-1]


def test_as_json_a_saved_try_is_one_document(world: World, digest: Shell) -> None:
    said = digest("try", QUERY, "--save", "scheduling", "--to", "feed", "--json", "--dry-run").json
    assert said["query"] == QUERY
    assert said["written"] is False
    assert said["digest"]["entries"]
    assert f'+follow = "{QUERY}"' in said["diff"]
    assert QUERY not in (world.folder / "digest.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Yann LeCun", 'author:"Yann LeCun"'),
        ('"yann lecun"', 'author:"yann lecun"'),
        ("J.-P. van Serre", 'author:"J.-P. van Serre"'),
        ("GPU", ""),
        ("GPU AND CPU", ""),
        ("au:lecun ti:nets", ""),
        ("scheduling of many tasks", ""),
    ],
)
def test_words_that_may_be_a_name_lead_to_the_persons_papers(text: str, query: str) -> None:
    assert guess_person(text) == query


def test_a_new_subscription_goes_where_all_others_go_and_when(file: Path, digest: Shell) -> None:
    said = digest("add", QUERY, "--name", "scheduling").out
    assert said.startswith(f"Volume: not known here. `digest try '{QUERY}'` says it.\n")
    assert find(file, "scheduling") == {
        "name": "scheduling",
        "follow": QUERY,
        "to": MAIL,
        "when": "daily at 07:30 Europe/Berlin",
    }
    assert file.read_text(encoding="utf-8").startswith(OWN)
    digest("add", "zebra", "--to", "feed", "--when", "at once")
    assert find(file, "zebra") == {
        "name": "zebra",
        "follow": "all:zebra",
        "to": "feed",
        "when": "at once",
    }
    assert "--to is missing" in digest("add", "ti:okapi", expect=2).err
    digest("add", "abs:zebra", "--to", "feed")
    assert find(file, "zebra-2")["follow"] == "abs:zebra", "zebra is another subscription"


def test_a_query_can_be_added_to_a_subscription_that_is_there(file: Path, digest: Shell) -> None:
    digest("add", QUERY, "--subscription", "gpu")
    assert find(file, "gpu")["follow"] == ["gpu", QUERY]
    assert len(read(file)["subscriptions"]) == 1
    said = digest("add", "ti:zebra", "--subscription", "gpu", "--to", "feed", expect=2)
    assert "`digest subscription edit gpu`" in said.err
    assert "Did you mean 'gpu'?" in digest("add", "ti:x", "--subscription", "gpus", expect=2).err


def test_a_second_subscription_writes_the_name_of_the_first_one_down(
    file: Path, digest: Shell
) -> None:
    file.write_text(
        f'follow = "abs:GPU"\nto = "{MAIL}"\nmail.from = "you@example.org"\n', encoding="utf-8"
    )
    digest("subscription", "edit", "digest", "show=5")
    digest("add", QUERY)
    assert find(file, "digest") == {"name": "digest", "follow": "abs:GPU", "to": MAIL, "show": 5}
    assert find(file, "scheduling") == {"name": "scheduling", "follow": QUERY, "to": MAIL}
    digest("subscription", "remove", "digest")
    assert [one["name"] for one in read(file)["subscriptions"]] == ["scheduling"]


@pytest.mark.usefixtures("fresh")
def test_without_a_file_each_says_what_makes_one(digest: Shell) -> None:
    commands = (
        ("try", QUERY, "--save", "scheduling"),
        ("subscription", "edit", "gpu", "show=3"),
        ("subscription", "remove", "gpu"),
        ("query", "remove", "gpu"),
        ("config", "undo"),
    )
    for words in commands:
        refused = digest(*words, expect=3)
        assert "`digest init` makes one" in refused.err, words


def test_a_subscription_is_edited_key_by_key_and_list_by_list(file: Path, digest: Shell) -> None:
    digest("add", QUERY, "--subscription", "gpu")
    digest(
        "subscription",
        "edit",
        "gpu",
        "show=20",
        "when=",
        "--remove-query",
        "gpu",
        "--add-to",
        "#papers",
    )
    subscription = {"name": "gpu", "follow": [QUERY], "to": [MAIL, "slack:#papers"], "show": 20}
    assert find(file, "gpu") == subscription
    digest("subscription", "edit", "gpu", f"to=feed, {MAIL}", "follow=gpu", "--remove-to", "feed")
    assert find(file, "gpu") == subscription | {"follow": "gpu", "to": [MAIL]}
    assert "show=20" in digest("subscription", "edit", "gpu", expect=2).err


def test_a_subscription_and_then_its_query_are_removed(file: Path, digest: Shell) -> None:
    assert "still follows the saved query gpu" in digest("query", "remove", "gpu", expect=2).err
    digest("subscription", "remove", "gpu")
    digest("query", "remove", "gpu")
    assert read(file) == {**tomllib.loads(OWN.partition("[queries]")[0]), "queries": {}}


def test_changes_are_undone_one_after_the_other(file: Path, digest: Shell) -> None:
    assert "no change" in digest("config", "undo", expect=2).err
    assert "`digest config undo`" in digest("add", QUERY, "--name", "scheduling").out
    once = file.read_bytes()
    digest("subscription", "edit", "scheduling", "show=3")
    assert "`digest config undo`" in digest("config", "undo").out
    assert file.read_bytes() == once
    assert "`digest config undo`" not in digest("config", "undo").out
    assert file.read_text(encoding="utf-8") == OWN
    assert "no change" in digest("config", "undo", expect=2).err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "ti:(", "--name", "x"], "never closed"),
        (["add", "ti:x", "--name", "X Y"], "can't be a name"),
        (
            ["add", "ti:x", "--name", "x", "--when", "sometimes"],
            "is not a time when a digest can be due",
        ),
        (["add", "ti:x", "--name", "x", "--to", "nowhere"], "nowhere"),
        (["add", "ti:x", "--name", "gpu"], "two subscriptions have the name 'gpu'"),
        (["subscription", "edit", "gpu", "show=all at all"], "show: must be"),
        (["subscription", "edit", "gpu", "exclude=ti:("], "never closed"),
        (["subscription", "edit", "gpu", "--add-query", "none"], "there is no saved query 'none'"),
        (["subscription", "remove", "gpus"], "Did you mean 'gpu'?"),
    ],
)
def test_what_would_make_the_file_wrong_is_refused_and_nothing_is_written(
    file: Path, digest: Shell, words: list[str], problem: str
) -> None:
    code = 3 if "nowhere" in words else 2
    assert problem in digest(*words, expect=code).err
    assert [one.name for one in file.parent.iterdir()] == ["digest.toml"]
    assert file.read_text(encoding="utf-8") == OWN


def test_a_query_that_could_not_be_read_before_keeps_nobody_from_changing_others(
    file: Path, digest: Shell
) -> None:
    file.write_text(OWN.replace('"abs:GPU"', '"ti:("'), encoding="utf-8")
    digest("add", QUERY, "--name", "scheduling")
    assert find(file, "scheduling")["follow"] == QUERY


def test_what_a_change_lacks_is_noted_once(file: Path, digest: Shell) -> None:
    said = digest("add", "cat:cs.XX", "--name", "x", "--to", "#papers")
    assert "note: 'cs.XX' is not a category of arXiv" in said.err
    assert "note: slack: destinations need a token" in said.err
    assert digest("add", QUERY, "--name", "y", "--to", "#papers").err == ""
    assert file.with_name("digest.toml.before").exists()


def test_a_dry_run_and_a_change_that_is_none_write_nothing(file: Path, digest: Shell) -> None:
    said = digest("add", QUERY, "--name", "scheduling", "--dry-run")
    assert f'+follow = "{QUERY}"' in said.out
    assert said.lines[-1] == "Nothing was written."
    assert "says so already" in digest("subscription", "edit", "gpu", "--add-query", "gpu").out
    assert (
        digest("subscription", "edit", "gpu", "--add-query", "gpu", "--json").json["written"]
        is False
    )
    assert [one.name for one in file.parent.iterdir()] == ["digest.toml"]


def test_a_file_with_windows_lines_and_a_mark_is_changed_where_a_link_leads(
    file: Path, digest: Shell
) -> None:
    target = file.rename(file.with_name("real.toml"))
    target.write_bytes(b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())
    link = file.with_name("other.toml")
    link.symlink_to(target)
    said = digest("--config", "other.toml", "add", QUERY, "--name", "scheduling")
    assert " --config other.toml config undo`" in said.out
    assert link.is_symlink()
    assert load_config(target, {}).queries[-1].text == QUERY
    digest("--config", "other.toml", "config", "undo")
    assert target.read_bytes().startswith(b"\xef\xbb\xbf# mine\r\n")


def test_a_process_at_work_has_to_be_made_to_read_the_file(world: World, digest: Shell) -> None:
    add = ("add", QUERY, "--name", "scheduling", "--to", "feed")
    assert "SIGHUP" not in digest(*add).out
    config = load_config(world.folder / "digest.toml", dict(os.environ))
    site = open_site(config, world.clock, owner="here:1:a", jitter=lambda: 0.5)
    with keep_beating(site):
        assert "`systemctl reload digest`" in digest("config", "undo").out
    site.close()


def test_on_a_terminal_add_asks_before_it_writes(file: Path) -> None:
    code, screen = hold_dialogue(file.parent, {}, "add", QUERY, typed=[("[Y/n]", "")])
    assert code == 0, screen
    assert find(file, "scheduling")["to"] == MAIL


def test_on_a_terminal_enter_removes_nothing_and_yes_asks_nothing(file: Path) -> None:
    remove = ("subscription", "remove", "gpu")
    assert hold_dialogue(file.parent, {}, *remove, typed=[("[y/N]", "")])[0] == 0
    assert file.read_text(encoding="utf-8") == OWN
    assert hold_dialogue(file.parent, {}, *remove, "--yes")[0] == 0
    assert "subscriptions" not in read(file)


def test_a_file_changed_while_the_question_stands_is_left_alone(file: Path) -> None:
    def change() -> str:
        file.write_text(f"{OWN}# theirs\n", encoding="utf-8")
        return "y"

    add = ("add", QUERY, "--name", "scheduling", "--to", "feed")
    code, screen = hold_dialogue(file.parent, {}, *add, typed=[("[Y/n]", change)])
    assert code == 2
    assert "somebody else has changed digest.toml" in " ".join(screen.split())
    assert file.read_text(encoding="utf-8").endswith("# theirs\n")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("cat:cs.PF AND abs:GPU", "gpu"),
        ('ti:"tail latency" OR au:量', "tail-latency"),
        ("ti:量子", "papers"),
    ],
)
def test_a_name_is_proposed_from_what_a_query_is_about(query: str, name: str) -> None:
    assert make_name(name_query(parse_query(query).tree)) == name
