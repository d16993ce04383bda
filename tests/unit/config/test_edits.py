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


def find_changes(before: str, after: str, sign: str) -> list[str]:
    """Return the lines that are new ("+") or gone ("-")."""
    _, _, *lines = edits.compare_texts(before, after, "digest.toml")
    return [line[1:] for line in lines if line[0] == sign]


def added(before: str, after: str) -> list[str]:
    """Return the lines that are new; none may be gone."""
    gone = find_changes(before, after, "-")
    assert not gone
    return find_changes(before, after, "+")


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


def read_subscriptions(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(text).get("subscriptions", [])
    return found


def test_one_destination_becomes_a_list_and_its_comment_stays() -> None:
    after = edits.edit_subscription(FILE, "team", add={"to": ["mailto:you@example.org"]})
    assert 'to = ["feed", "mailto:you@example.org"] # for now' in after
    again = edits.edit_subscription(after, "team", add={"to": ["mailto:You@example.org"]})
    assert again == after


def test_lists_of_the_user_keep_their_shape() -> None:
    after = edits.edit_subscription(FILE, "team", add={"follow": ["tail"]})
    assert 'follow = [\n  "gpu", # theirs\n  "tail",\n]' in after
    assert added(FILE, after) == ['  "tail",']


def test_a_key_is_written_below_the_last_one_or_in_its_place_or_taken_out() -> None:
    after = edits.edit_subscription(FILE, "team", values={"show": 40, "title": "GPU"})
    assert 'to = "feed" # for now\nshow = 40\ntitle = "GPU"\n# show = 20\n' in after
    again = edits.edit_subscription(after, "team", values={"title": "Ours"})
    assert 'show = 40\ntitle = "Ours"\n# show = 20\n' in again
    without = edits.edit_subscription(again, "team", values={"title": None, "show": None})
    assert without == FILE


def remove_both(text: str) -> str:
    without_me = edits.remove_subscription(text, "me")
    return edits.remove_subscription(without_me, "team")


def test_what_stands_behind_a_removed_subscription_stays() -> None:
    last_comment = re.findall("# [a-z ]+", FILE)[-1]
    for name in ("team", "me"):
        after = edits.remove_subscription(FILE, name)
        assert last_comment in after
        assert "# show = 20" in after
        assert len(read_subscriptions(after)) == 1
    nobody = remove_both(FILE)
    assert "subscriptions" not in tomllib.loads(nobody)
    assert nobody.endswith("# Who gets what.\n# show = 20\n\n# the end\n")


def test_the_only_subscription_is_changed_at_the_top_of_the_file() -> None:
    after = edits.edit_subscription(SHORT, "digest", values={"show": 3}, add={"to": ["feed"]})
    assert after == SHORT.replace('"console"\n', '["console", "feed"]\nshow = 3\n')
    without = edits.remove_subscription(SHORT, "digest")
    assert without == '# mine\nmail.from = "a@example.org"\n'


def test_beside_a_second_subscription_the_only_one_gets_its_name_and_a_table() -> None:
    after = edits.add_subscription(SHORT, {"name": "gpu", "follow": "abs:GPU", "to": "feed"})
    assert after == (
        '# mine\nmail.from = "a@example.org"\n\n'
        '[[subscriptions]]\nname = "digest"\nfollow = "cat:cs.PF" # all of it\nto = "console"\n\n'
        '[[subscriptions]]\nname = "gpu"\nfollow = "abs:GPU"\nto = "feed"\n'
    )
    named = f'name = "perf"\n{SHORT}'
    both = edits.add_subscription(named, {"name": "digest", "follow": "x:y", "to": "feed"})
    assert list(edits.list_subscriptions(both)) == ["perf", "digest"]
    first = edits.add_subscription("", {"name": "a", "to": "feed"})
    assert first.startswith("[[subscriptions]]\n")


def test_what_has_no_lines_of_its_own_is_left_to_the_owner_of_the_file() -> None:
    queries = 'queries = {gpu = "abs:GPU", b = "ti:b"}\n'
    subscriptions = 'subscriptions = [{name = "a", follow = "b", to = "feed"}]\n'
    inline = queries + subscriptions
    with pytest.raises(ConfigurationError, match="no command can change"):
        edits.remove_query(inline, "gpu")
    with pytest.raises(ConfigurationError, match="no command can change"):
        edits.edit_subscription(inline, "a", values={"show": 3})


def test_a_saved_query_stays_while_it_is_read_first_or_last() -> None:
    for key, said in (("read_first", "reads first"), ("read_last", "reads last")):
        values = {"follow": "ti:x", key: ["ti:y", "gpu"]}
        named = edits.edit_subscription(FILE, "team", values=values)
        refused = f"the subscription team still {said} the saved query gpu"
        with pytest.raises(UsageError, match=refused) as caught:
            edits.remove_query(named, "gpu")
        assert caught.value.hint == f"`digest subscription edit team {key}=` takes it from there."


def test_a_saved_query_is_removed_once_nobody_follows_it() -> None:
    with pytest.raises(UsageError, match="the subscription team still follows the saved query gpu"):
        edits.remove_query(FILE, "gpu")
    nobody = remove_both(FILE)
    after = edits.remove_query(nobody, "gpu")
    assert tomllib.loads(after)["queries"] == {}
    alone = edits.remove_query('queries.gpu = "abs:GPU"\n', "gpu")
    assert "queries" not in alone


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
    new = {"name": "new", "follow": ["gpu"], "to": ["feed", "console"]}
    more = edits.add_subscription(FILE, new)
    assert added(FILE, more)[:3] == ["", "[[subscriptions]]", 'name = "new"']
    after = edits.remove_subscription(FILE, "team")
    gone = find_changes(FILE, after, "-")
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
        lines = [f"  {item}, # item {next(numbers)}\n" for item in quoted]
        return f"[\n{''.join(lines)}{gap()}]"

    def to() -> str:
        if draw(st.booleans()):
            return draw(st.sampled_from(['"feed"', "'console'"]))
        return array(["feed", "console"])

    def table(head: str, *lines: str) -> str:
        ended = [f"{line}{end()}" for line in (head, *lines)]
        return "".join(ended)

    arxiv = f"{gap()}[arxiv]{end()}{gap()}contact = 'ops@example.org'{end()}{gap()}"
    queries = f'[queries]{end()}{gap()}a = "abs:GPU"{end()}{gap()}b = "cat:cs.PF"{end()}'
    parts = [arxiv, queries]
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        follow = array(["a"])
        subscription = table(
            "[[subscriptions]]", f'name = "{name}"', f"follow = {follow}", f"to = {to()}"
        )
        parts.append(f"{gap()}{subscription}{gap()}")
    if draw(st.booleans()):
        mail = table("[mail]", 'from = "digest@example.org"')
        parts.append(f"{mail}{gap()}")
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
            new = {"name": name, "follow": ["a"], "to": place}
            return edits.add_subscription(text, new)
        case ("remove", name, _):
            return edits.remove_subscription(text, name)
        case ("to", name, place):
            return edits.edit_subscription(text, name, add={"to": [place]})
        case ("not to", name, place):
            return edits.edit_subscription(text, name, remove={"to": [place]})
        case (key, name, value):
            return edits.edit_subscription(text, name, values={key: value})
    raise AssertionError(edit)


def list_destinations(subscription: dict[str, Any]) -> list[str]:
    """Return where a subscription goes, whether that stands in a list or alone."""
    to = subscription["to"]
    return to if isinstance(to, list) else [to]


def expect(before: dict[str, Any], edit: tuple[str, str, Any]) -> dict[str, Any] | None:
    """Return what a file means after an edit, None where that must be refused."""
    way, name, value = edit
    read = deepcopy(before)
    subscriptions = read.get("subscriptions", [])
    if way == "subscribe":
        subscriptions.append({"name": name, "follow": ["a"], "to": value})
        return read | {"subscriptions": subscriptions}
    named = [one for one in subscriptions if one["name"] == name]
    if not named:
        return None
    (found,) = named
    if way == "remove":
        subscriptions.remove(found)
        if not subscriptions:
            del read["subscriptions"]
        return read
    to = set(list_destinations(found))
    is_there = value in to
    is_all = to == {value}
    if way == "not to" and (is_all or not is_there):
        return None
    change_subscription(found, way, value)
    return read


def change_subscription(found: dict[str, Any], way: str, value: object) -> None:
    """Change what a subscription means, as an edit must that is not refused."""
    to = list_destinations(found)
    if way == "follow":
        if value not in found["follow"]:
            found["follow"].append(value)
    elif way == "to":
        found["to"] = to if value in to else [*to, value]
    elif way == "not to":
        found["to"] = [place for place in to if place != value]
    elif value is None:
        found.pop(way, None)
    else:
        found[way] = value


def normalised(read: dict[str, Any]) -> dict[str, Any]:
    """Return what a file means, each destination in a list."""
    same = deepcopy(read)
    for subscription in same.get("subscriptions", []):
        subscription["to"] = list_destinations(subscription)
    return same


def find_comments(text: str) -> set[str]:
    return set(re.findall(r"# \w+ \d+", text))


@given(files(), EDITS)
def test_any_edits_mean_what_they_say_and_lose_no_comment_but_those_of_removed_lines(
    text: str, sequence: list[tuple[str, str, Any]]
) -> None:
    for edit in sequence:
        way, name, _ = edit
        if way == "subscribe" and name in edits.list_subscriptions(text):
            continue  # the reader of the file refuses it
        expected = expect(tomllib.loads(text), edit)
        if expected is None:
            with pytest.raises(UsageError):
                make(text, edit)
            continue
        after = make(text, edit)
        meant = tomllib.loads(after)
        assert normalised(meant) == normalised(expected)
        check_lost_comments(text, after, edit)
        text = after


def check_lost_comments(text: str, after: str, edit: tuple[str, str, Any]) -> None:
    """Hold the comments that an edit took away against the lines that it had to take away."""
    way, name, _ = edit
    lost = find_comments(text) - find_comments(after)
    compared = edits.compare_texts(text, after, "")
    removed = {line[1:] for line in compared if line[0] == "-"}
    if way == "remove":
        before_name = text[: text.index(f'name = "{name}"')]
        start = before_name.rindex("[[")
        all_removed = "".join(removed)
        for comment in lost:
            assert text.index(comment) > start
            assert comment in all_removed
    elif way == "not to":
        for comment in lost:
            assert not comment.startswith("# note")
            assert any(comment in line and '"' in line for line in removed)
    else:
        assert not lost or way == "title"


def test_a_value_from_a_variable_stays_as_it_is_written() -> None:
    with_reader = SHORT.replace('"console"', '["mailto:$READER", "console"]')
    text = with_reader.replace('"cat:cs.PF"', '"$QUERY"')
    shown = edits.edit_subscription(text, "digest", values={"show": 5})
    assert added(text, shown) == ["show = 5"]
    assignments = ("to=mailto:$OTHER,$MORE", "title=$TITLE")
    change = dict(edits.read_assignment(one) for one in assignments)
    after = edits.edit_subscription(text, "digest", values=change)
    assert edits.list_subscriptions(after)["digest"] == {
        "follow": "$QUERY",
        "to": ["mailto:$OTHER", "$MORE"],
        "title": "$TITLE",
    }
    remove = {"to": ["mailto:$READER"]}
    add = {"to": ["mailto:$X"]}
    less = edits.edit_subscription(text, "digest", remove=remove, add=add)
    assert edits.list_subscriptions(less)["digest"]["to"] == ["console", "mailto:$X"]
    new = {"name": "new", "follow": "cat:cs.PF", "to": "feed"}
    more = edits.add_subscription(text, new)
    assert edits.list_subscriptions(more)["digest"]["to"] == ["mailto:$READER", "console"]
