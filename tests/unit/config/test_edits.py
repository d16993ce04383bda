"""Changes of `digest.toml` by command: what it means afterwards, and what stays as it was."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.config import edits
from digest.model.errors import ConfigurationError, UnknownName, UsageError

FILE = """\
# mine
[arxiv]
contact = "ops@example.org" # reach me

[queries] # all of them
gpu = 'abs:"tail latency"' # the old one
# off = "cat:cs.DC"

# Who gets what.
[[subscriptions]]
name = "team"
follow = [
  "gpu", # theirs
]
to = "feed" # for now
# show = 20

[[subscriptions]]
name = "me"
follow = ["gpu"]
to = ["feed", "console"]
# the end
"""

SHORT = """\
# mine
follow = "cat:cs.PF" # all of it
to = "console"
mail.from = "a@example.org"
"""


def added(before: str, after: str) -> list[str]:
    """Return the lines that are new; none may be gone."""
    changes = [
        line for line in edits.compare_texts(before, after, "digest.toml")[2:] if line[0] in "+-"
    ]
    assert not [line for line in changes if line[0] == "-"], changes
    return [line[1:] for line in changes]


def test_a_new_subscription_stands_behind_the_others_after_an_empty_line() -> None:
    after = edits.add_subscription(FILE, {"name": "new", "follow": ["gpu"], "to": "console"})
    assert added(FILE, after) == [
        "",
        "[[subscriptions]]",
        'name = "new"',
        'follow = ["gpu"]',
        'to = "console"',
    ]
    assert after.startswith(FILE)


def test_one_destination_becomes_a_list_and_its_comment_stays() -> None:
    after = edits.edit_subscription(FILE, "team", add={"to": ["mailto:you@example.org"]})
    assert 'to = ["feed", "mailto:you@example.org"] # for now' in after
    assert edits.edit_subscription(after, "team", add={"to": ["mailto:You@example.org"]}) == after


def test_lists_of_the_user_keep_their_shape() -> None:
    after = edits.edit_subscription(FILE, "team", add={"follow": ["tail"]})
    assert 'follow = [\n  "gpu", # theirs\n  "tail",\n]' in after
    assert added(FILE, after) == ['  "tail",']


def test_a_key_is_written_below_the_last_one_or_in_its_place_or_taken_out() -> None:
    after = edits.edit_subscription(FILE, "team", values={"show": 40, "title": "GPU"})
    assert 'to = "feed" # for now\nshow = 40\ntitle = "GPU"\n# show = 20\n' in after
    again = edits.edit_subscription(after, "team", values={"title": "Ours"})
    assert 'show = 40\ntitle = "Ours"\n# show = 20\n' in again
    assert edits.edit_subscription(again, "team", values={"title": None, "show": None}) == FILE


def test_what_stands_behind_a_removed_subscription_stays() -> None:
    for name in ("team", "me"):
        after = edits.remove_subscription(FILE, name)
        assert re.findall("# [a-z ]+", FILE)[-1] in after
        assert "# show = 20" in after
        assert len(tomllib.loads(after)["subscriptions"]) == 1
    nobody = edits.remove_subscription(edits.remove_subscription(FILE, "me"), "team")
    assert "subscriptions" not in tomllib.loads(nobody)
    assert nobody.endswith("# Who gets what.\n# show = 20\n\n# the end\n")


def test_the_only_subscription_is_changed_at_the_top_of_the_file() -> None:
    after = edits.edit_subscription(SHORT, "digest", values={"show": 3}, add={"to": ["feed"]})
    assert after == SHORT.replace('"console"\n', '["console", "feed"]\nshow = 3\n')
    assert edits.remove_subscription(SHORT, "digest") == '# mine\nmail.from = "a@example.org"\n'


def test_beside_a_second_subscription_the_only_one_gets_its_name_and_a_table() -> None:
    after = edits.add_subscription(SHORT, {"name": "gpu", "follow": "abs:GPU", "to": "feed"})
    assert after == (
        '# mine\nmail.from = "a@example.org"\n\n'
        '[[subscriptions]]\nname = "digest"\nfollow = "cat:cs.PF" # all of it\nto = "console"\n\n'
        '[[subscriptions]]\nname = "gpu"\nfollow = "abs:GPU"\nto = "feed"\n'
    )
    named = edits.add_subscription(
        f'name = "perf"\n{SHORT}', {"name": "digest", "follow": "x:y", "to": "feed"}
    )
    assert [*edits.list_subscriptions(named)] == ["perf", "digest"]
    assert edits.add_subscription("", {"name": "a", "to": "feed"}).startswith("[[subscriptions]]\n")


def test_what_has_no_lines_of_its_own_is_left_to_the_owner_of_the_file() -> None:
    inline = 'queries = {gpu = "abs:GPU", b = "ti:b"}\nsubscriptions = [{name = "a", follow = "b", to = "feed"}]\n'
    with pytest.raises(ConfigurationError, match="no command can change"):
        edits.remove_query(inline, "gpu")
    with pytest.raises(ConfigurationError, match="no command can change"):
        edits.edit_subscription(inline, "a", values={"show": 3})


def test_a_saved_query_stays_while_it_is_read_first_or_last() -> None:
    for key, said in (("read_first", "reads first"), ("read_last", "reads last")):
        named = edits.edit_subscription(
            FILE, "team", values={"follow": "ti:x", key: ["ti:y", "gpu"]}
        )
        with pytest.raises(
            UsageError, match=f"the subscription team still {said} the saved query gpu"
        ) as caught:
            edits.remove_query(named, "gpu")
        assert caught.value.hint == f"`digest subscription edit team {key}=` takes it from there."


def test_a_saved_query_is_removed_once_nobody_follows_it() -> None:
    with pytest.raises(UsageError, match="the subscription team still follows the saved query gpu"):
        edits.remove_query(FILE, "gpu")
    nobody = edits.remove_subscription(edits.remove_subscription(FILE, "me"), "team")
    assert tomllib.loads(edits.remove_query(nobody, "gpu"))["queries"] == {}
    assert "queries" not in edits.remove_query('queries.gpu = "abs:GPU"\n', "gpu")


def test_what_is_not_there_is_no_more_taken_out() -> None:
    with pytest.raises(UnknownName) as caught:
        edits.remove_subscription(FILE, "teams")
    assert caught.value.hint == "Did you mean 'team'?"
    with pytest.raises(UsageError, match="team does not go to console"):
        edits.edit_subscription(FILE, "team", remove={"to": ["console"]})
    with pytest.raises(UsageError, match="team needs something to go to"):
        edits.edit_subscription(FILE, "team", remove={"to": ["feed"]})


def test_values_are_read_by_what_the_settings_take() -> None:
    read = edits.read_assignment
    assert read("show=20") == ("show", 20)
    assert read("show=0") == ("show", 0), "to be refused as -3 is: only nothing takes a setting out"
    assert read("show = all") == ("show", "all")
    assert read("kinds=new, replaced") == ("kinds", ["new", "replaced"])
    assert read('kinds=["new"]') == ("kinds", ["new"])
    assert read("title=[GPU]") == ("title", "[GPU]")
    assert read('exclude=author:"Lindquell, K"') == ("exclude", 'author:"Lindquell, K"')
    assert read("library=~/lab.bib, zotero:12/Thesis") == (
        "library",
        ["~/lab.bib", "zotero:12/Thesis"],
    )
    assert read('read_first=ti:"a, b"') == ("read_first", 'ti:"a, b"')
    assert read("read_last=") == ("read_last", None)
    assert read("title=") == ("title", None)
    assert read('follow=au:"Lindquell, K"') == ("follow", 'au:"Lindquell, K"')
    assert read('follow=["gpu", "perf"]') == ("follow", ["gpu", "perf"])
    assert read("to=you@example.org,#papers") == ("to", ["mailto:you@example.org", "slack:#papers"])
    for wrong in ("show", "shows=3", "name=other"):
        with pytest.raises(UsageError):
            read(wrong)


def test_a_table_that_comes_or_goes_is_shown_from_its_head_on() -> None:
    more = edits.add_subscription(
        FILE, {"name": "new", "follow": ["gpu"], "to": ["feed", "console"]}
    )
    assert added(FILE, more)[:3] == ["", "[[subscriptions]]", 'name = "new"']
    after = edits.remove_subscription(FILE, "team")
    gone = [
        line[1:] for line in edits.compare_texts(FILE, after, "digest.toml")[2:] if line[0] == "-"
    ]
    assert gone[0] == "[[subscriptions]]"


NAMES = st.sampled_from(["a", "b", "c.c", "d-1"])
WORDS = st.sampled_from(
    ["abs:GPU", 'ti:"tail" AND cat:cs.PF', "au:O'Brien", "ä OR 'x' OR \"y\"", "#no"]
)
PLACES = st.sampled_from(["feed", "console", "mailto:you@example.org", "slack:#papers"])
GAPS = st.sampled_from(["", "\n", "# note {0}\n", "\n# note {0}\n", "# note {0}\n\n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """Write a file as people do, with numbered comments wherever one may stand."""
    numbers = iter(range(1000))

    def gap() -> str:
        return draw(GAPS).format(next(numbers))

    def end() -> str:
        return draw(st.sampled_from(["\n", f" # end {next(numbers)}\n"]))

    def array(items: list[str]) -> str:
        quoted = [f'"{item}"' for item in items]
        if draw(st.booleans()):
            return f"[{', '.join(quoted)}]"
        return (
            "[\n" + "".join(f"  {item}, # item {next(numbers)}\n" for item in quoted) + gap() + "]"
        )

    queries = {"a": "abs:GPU", "b": "cat:cs.PF"}
    saved = "".join(f'{gap()}{name} = "{text}"{end()}' for name, text in queries.items())
    parts = [
        f"{gap()}[arxiv]{end()}{gap()}contact = 'ops@example.org'{end()}{gap()}",
        f"[queries]{end()}{saved}",
    ]
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        to = (
            draw(st.sampled_from(['"feed"', "'console'"]))
            if draw(st.booleans())
            else array(["feed", "console"])
        )
        lines = [f'name = "{name}"', f"follow = {array(['a'])}", f"to = {to}"]
        parts.append(
            f"{gap()}[[subscriptions]]{end()}" + "".join(f"{line}{end()}" for line in lines) + gap()
        )
    if draw(st.booleans()):
        parts.append(f'[mail]{end()}from = "digest@example.org"{end()}{gap()}')
    return "".join(parts)


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("follow"), NAMES, WORDS),
        st.tuples(st.just("subscribe"), NAMES, PLACES),
        st.tuples(st.just("remove"), NAMES, st.none()),
        st.tuples(st.just("to"), NAMES, PLACES),
        st.tuples(st.just("not to"), NAMES, PLACES),
        st.tuples(st.just("title"), NAMES, st.none() | WORDS),
        st.tuples(st.just("show"), NAMES, st.integers(1, 9)),
    ),
    max_size=8,
)


def make(text: str, edit: tuple[str, str, Any]) -> str:
    match edit:
        case ("follow", name, words):
            return edits.edit_subscription(text, name, add={"follow": [words]})
        case ("subscribe", name, place):
            return edits.add_subscription(text, {"name": name, "follow": ["a"], "to": place})
        case ("remove", name, _):
            return edits.remove_subscription(text, name)
        case ("to", name, place):
            return edits.edit_subscription(text, name, add={"to": [place]})
        case ("not to", name, place):
            return edits.edit_subscription(text, name, remove={"to": [place]})
        case (key, name, value):
            return edits.edit_subscription(text, name, values={key: value})
    raise AssertionError(edit)


def expect(before: dict[str, Any], edit: tuple[str, str, Any]) -> dict[str, Any] | None:
    """Return what a file means after an edit, None where that must be refused."""
    read = deepcopy(before)
    subscriptions = read.get("subscriptions", [])
    found = [one for one in subscriptions if one["name"] == edit[1]]
    match edit:
        case ("subscribe", name, place):
            subscriptions.append({"name": name, "follow": ["a"], "to": place})
            read["subscriptions"] = subscriptions
        case _ if not found:
            return None
        case ("follow", _, words):
            found[0]["follow"] += [] if words in found[0]["follow"] else [words]
        case ("remove", _, _):
            subscriptions.remove(found[0])
            if not subscriptions:
                del read["subscriptions"]
        case (("to" | "not to") as way, _, place):
            to = found[0]["to"] if isinstance(found[0]["to"], list) else [found[0]["to"]]
            left = [one for one in to if one != place]
            if way == "not to" and (left == to or not left):
                return None
            found[0]["to"] = left if way == "not to" else [*to, *([] if place in to else [place])]
        case (key, _, None):
            found[0].pop(key, None)
        case (key, _, value):
            found[0][key] = value
    return read


def normalised(read: dict[str, Any]) -> dict[str, Any]:
    """Return what a file means, whether one destination stands in a list or alone."""
    return {
        key: [
            {**one, "to": one["to"] if isinstance(one["to"], list) else [one["to"]]}
            for one in value
        ]
        if key == "subscriptions"
        else value
        for key, value in read.items()
    }


@given(files(), EDITS)
def test_any_edits_mean_what_they_say_and_lose_no_comment_but_those_of_removed_lines(
    text: str, sequence: list[tuple[str, str, Any]]
) -> None:
    for edit in sequence:
        if edit[0] == "subscribe" and edit[1] in edits.list_subscriptions(text):
            continue  # the reader of the file refuses it
        expected = expect(tomllib.loads(text), edit)
        if expected is None:
            with pytest.raises(UsageError):
                make(text, edit)
            continue
        after = make(text, edit)
        assert normalised(tomllib.loads(after)) == normalised(expected)
        lost = set(re.findall(r"# \w+ \d+", text)) - set(re.findall(r"# \w+ \d+", after))
        removed = {line[1:] for line in edits.compare_texts(text, after, "") if line[0] == "-"}
        notes = {one for one in lost if one.startswith("# note")}
        if edit[0] == "remove":
            start = text[: text.index(f'name = "{edit[1]}"')].rindex("[[")
            assert all(text.index(one) > start for one in lost)
            assert all(one in "".join(removed) for one in lost)
        elif edit[0] == "not to":
            assert not notes
            assert all(any(one in line and '"' in line for line in removed) for one in lost)
        else:
            assert not lost or edit[0] == "title"
        text = after


def test_a_value_from_a_variable_stays_as_it_is_written() -> None:
    text = SHORT.replace('"console"', '["mailto:$READER", "console"]').replace(
        '"cat:cs.PF"', '"$QUERY"'
    )
    change = dict(
        [edits.read_assignment("to=mailto:$OTHER,$MORE"), edits.read_assignment("title=$TITLE")]
    )
    after = edits.edit_subscription(text, "digest", values=change)
    assert added(text, edits.edit_subscription(text, "digest", values={"show": 5})) == ["show = 5"]
    assert edits.list_subscriptions(after)["digest"] == {
        "follow": "$QUERY", "to": ["mailto:$OTHER", "$MORE"], "title": "$TITLE"
    }  # fmt: skip
    less = edits.edit_subscription(
        text, "digest", remove={"to": ["mailto:$READER"]}, add={"to": ["mailto:$X"]}
    )
    assert edits.list_subscriptions(less)["digest"]["to"] == ["console", "mailto:$X"]
    more = edits.add_subscription(text, {"name": "new", "follow": "cat:cs.PF", "to": "feed"})
    assert edits.list_subscriptions(more)["digest"]["to"] == ["mailto:$READER", "console"]
