"""What is said of a failure, a refusal or an end: a code and its arguments.

What decides reads the code. The words are made where somebody reads them, from the one table here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

Argument: TypeAlias = "str | Said"
"""What fills a hole of a sentence: a text, often of the other side, or what is said in turn."""


class Saying(StrEnum):
    """All that is said so: each code with its sentence, which has `{}` for each argument."""

    sentence: str

    def __new__(cls, code: str, sentence: str = "") -> Self:
        """Return the member of this code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    # Forms that hold what is said elsewhere.
    NOTHING = "nothing", ""
    WORDS = "words", "{}"
    ADVISED = "advised", "{}. {}"
    OF_ONE = "of one", "{}: {}"
    AT_DESTINATION = "at destination", "{}: {}"
    FOLLOWED = "followed", "{}; {}"

    # Of arXiv, of planning and of alarms.
    NO_WHOLE_ANSWER = "no whole answer", "no whole answer from {}: {}"
    NEXT_CHECK_ASKS = (
        "next check asks",
        "Nothing was stored from it and nothing is lost. The next check asks again.",
    )
    NEXT_CHECK_COUNTS = (
        "next check counts",
        "Nothing was counted as complete. The next check asks again.",
    )
    NEXT_CHECK_GOES_ON = (
        "next check goes on",
        "Nothing is lost. The next check continues where this one stopped.",
    )
    CHECK_ABANDONED = "check abandoned", "the process ended before the run did"
    CHECK_FAILED = "check failed", "the last check of arXiv failed: {}"
    NUMBERED_OTHERWISE = (
        "numbered otherwise",
        "most ids around it are missing too: this server does not number papers as arXiv does",
    )
    NOT_KNOWN = "not known", "arXiv knew no such paper, asked {} from {}"
    NOT_KNOWN_UNTIL = "not known until", "arXiv knew no such paper, asked {} from {} to {}"
    NOT_FETCHED = "not fetched", "{} was not fetched: {}"
    RUN_PLANS = (
        "run plans",
        "`digest run` plans them. If `digest serve` is at work, its log says why it does not.",
    )
    CALL_RUN = "call run", "Call `digest run` from cron, or keep `digest serve` running."
    ALARM_NOT_SENT = "alarm not sent", "the alarm could not be sent to {}: {}"
    AND_MORE = "and more", "{} (and {} more)"

    # What alarms say: what is wrong, and what to do.
    ALARM = "alarm", "{}. {}"
    MESSAGE_WAITS = "message waits", "a message to {} has been waiting since {}"
    MESSAGES_WAIT = (
        "messages wait",
        "{} messages have been waiting for more than an hour, the first since {}",
    )
    SHOW_WAITING = "show waiting", "`digest delivery show {}` says what keeps it."
    NEEDS_YOU = "needs you", "a message to {} needs you: {}"
    MESSAGE_FAILED = "message failed", "the message to {} failed: {}"
    MESSAGES_FAILED = (
        "messages failed",
        "{} messages failed in the last two days, the last of them to {}: {}",
    )
    NOBODY_KNOWS = "nobody knows", "nobody knows why"
    SHOW_STUCK = "show stuck", "`digest delivery show {}` says what to do."
    DIGEST_DUE = "digest due", "the digest of {} has been due since {} and is not planned"
    DIGESTS_DUE = "digests due", "digests are due and not planned, that of {} since {}"
    PLANNING_FAILED = "planning failed", "{}; planning failed: {}"
    PLANNED_AGAIN = "planned again", "Planning is tried again by itself."
    FETCHED_AGAIN = (
        "fetched again",
        "It is tried again. There is nothing to do unless this lasts.",
    )
    NOT_OUT = "not out", "{} is not out yet"
    MAY_BE_DEFERRED = (
        "may be deferred",
        (
            "Checks go on. arXiv may have deferred it"
            " (https://info.arxiv.org/help/availability.html)."
        ),
    )
    NOT_CHECKED = "not checked", "{} was not checked"
    NOT_COMPLETE = "not complete", "{} was not fetched completely"
    SHOW_COVERAGE = "show coverage", "`digest coverage` says what is missing."
    MANY_SIGNUPS = (
        "many signups",
        "more people asked for a mail with a link than are answered in an hour",
    )
    ASK_LATER = "ask later", "They can ask again later. `digest help people` says more."

    # Of a delivery, whatever it goes to.
    FAULT = "fault", "Digest itself failed ({})"
    FAULT_LOGGED = "fault logged", "This is a fault in Digest. The log says more."
    NOT_SHORTER = "not shorter", "It cannot be made shorter"
    GIVEN_UP_AFTER = "given up after", "{}; given up after {}"
    UNSURE = "unsure", "it is not known whether it arrived: {}"
    NEVER_ARRIVED = "never arrived", "it never arrived"
    SENT_AGAIN = "sent again", "{}; sent again"
    SEARCH_FAILED = "search failed", "searching for it failed ({})"
    CLAIM_ENDED = (
        "claim ended",
        "the claim on it ended before it was sent: another process may send it",
    )
    PROCESS_DIED = (
        "process died",
        "the process died, or lost the database, while sending: no answer was recorded",
    )
    RUN_STOPPED = "run stopped", "the run was stopped before"
    EARLIER_PART = "earlier part", "part {} was not sent: {}"
    CANCELLED = "cancelled", "cancelled by the operator"
    ARRIVED = "arrived", "marked as sent by the operator"
    TAKEN_AS_SENT = "taken as sent", "taken as sent before the database was restored"

    # Why nothing may be sent there any more.
    HAS_ENDED = "has ended", "the subscription has ended"
    NAMED_HAS_ENDED = "named has ended", "the subscription {} has ended"
    NOT_NAMED = "not named", "it was taken out of the subscription"
    NO_DESTINATION = "no destination", "{} is no longer a destination of {}"
    LEFT = "left", "left ({})"
    UNSUBSCRIBED = "unsubscribed", "unsubscribed ({})"
    NOT_CONFIRMED = "not confirmed", "{} has not confirmed"
    LETTER_NOT_AWAITED = "letter not awaited", "nobody waits for this letter any more"
    LETTERS_NOT_WANTED = "letters not wanted", "its reader wants no letters"

    # How somebody unsubscribed or came back, and who did it.
    PAGE = "page", "page"
    ONE_CLICK = "one-click", "one-click"
    OPERATOR = "operator", "operator"
    MOVED = "moved", "moved"
    NOT_ME = "not me", "not me"
    SAME_AGAIN = "same again", "unsubscribed from {}, and this seems to be the same"
    REFUSED_IN_A_ROW = "refused in a row", "refused in three digests in a row"

    # Of an exchange over HTTP.
    CONNECTION_BROKE = (
        "connection broke",
        "the connection to {} broke before its answer was read: {}",
    )
    UNREACHABLE = "unreachable", "{} can't be reached: {}"
    CHECK_NETWORK = "check network", "Check the network and the configured address."
    ASKED_TO_WAIT = "asked to wait", "{} asks us to wait (HTTP 429)"
    ANSWERS_ELSEWHERE = (
        "answers elsewhere",
        "{} answers from another address (HTTP {}); redirects are not followed",
    )
    CHECK_ADDRESS = "check address", "Check the configured address."
    OWN_ERROR = "own error", "{} had an error of its own (HTTP {})"
    REQUEST_REFUSED = "request refused", "{} refused the request itself (HTTP {})"
    CHECK_WAY = "check way", "Check the configured address, and any proxy on the way."

    # Of webhooks.
    HOOK_NOT_ASKED = "hook not asked", "a webhook can't be asked which messages it took"
    NO_SUCH_HOOK = "no such hook", "there is no {}"
    ASK_DOCTOR = (
        "ask doctor",
        "`digest doctor --quick` says what it lacks, and which variable gives it.",
    )
    HOOK_ANSWERED = "hook answered", "{} answered {}"
    DISCORD_HOOK_GONE = (
        "discord hook gone",
        "Make a new webhook in the channel's settings, and replace the old URL with its URL.",
    )
    DISCORD_SAYS = "discord says", "Discord says: {}"
    DISCORD_SAYS_NOTHING = "discord says nothing", "Discord says: nothing"
    RECEIVER_SAYS = "receiver says", "See the receiver's log, or its answer: {}"
    RECEIVER_SAYS_NOTHING = (
        "receiver says nothing",
        "See the receiver's log, or its answer: it was empty.",
    )
    SLACK_HOOK_GONE = (
        "slack hook gone",
        "Make a new incoming webhook for the channel, and replace the old URL with its URL.",
    )
    TEAM_DISABLED = "team disabled", "The workspace is switched off: ask its administrators."
    ANOTHER_HOOK = "another hook", "Unarchive the channel, or make a webhook for another."
    POSTING_FORBIDDEN = (
        "posting forbidden",
        "The workspace's administrators forbid posting there: ask them.",
    )

    # Of Slack's Web API.
    NO_CHANNEL = "no channel", "there is no channel {} that the app can see"
    CHECK_CHANNEL = (
        "check channel",
        (
            "Check the name, or write the channel's id. For a private channel give the app the"
            " scope groups:read, and write /invite @… with its name in {}."
        ),
    )
    SLACK_NAMED_NOTHING = "slack named nothing", "Slack said ok, but named no message"
    NO_METADATA = "no metadata", "the post has no metadata to search for"
    WRITE_ID = "write id", "Write the channel's id instead of its name."
    SLACK_HAS_NO_LIST = "slack has no list", "Slack's answer to {} can't be read: it has no list"
    SLACK_ENDLESS = "slack endless", "Slack's {} does not end after {} pages"
    SLACK_UNREADABLE = "slack unreadable", "Slack's answer can't be read: {}"
    SLACK_UNREADABLE_200 = "slack unreadable 200", "Slack's answer can't be read (HTTP 200)"
    SOMETHING_ELSE_ANSWERS = (
        "something else answers",
        (
            "Perhaps something else answers at this address."
            " Check the address, and any proxy on the way."
        ),
    )
    SLACK_ASKS_TO_WAIT = "slack asks to wait", "Slack asks to wait: {}"
    SLACK_OWN_ERROR = "slack own error", "Slack had an error of its own: {}"
    SLACK_MISUNDERSTANDS = "slack misunderstands", "Slack does not understand {}: {}"
    SLACK_MISUNDERSTANDS_DETAILS = (
        "slack misunderstands details",
        "Slack does not understand {}: {} ({})",
    )
    WRONG_MESSAGE = (
        "wrong message",
        (
            "The message itself is wrong: check changed Slack templates,"
            " or report it as a fault in Digest."
        ),
    )
    SLACK_REFUSED = "slack refused", "Slack refused {}: {}"
    SLACK_REFUSED_NEEDS = "slack refused needs", "Slack refused {}: {} (needs {})"
    CHANNEL_FORBIDS = (
        "channel forbids",
        "A setting of the workspace or channel forbids posting there.",
    )
    TOKEN = (
        "token",
        (
            "Check the token, as in DIGEST_SLACK_TOKEN:"
            " install the app again and copy its bot token (xoxb-…)."
        ),
    )
    TOKEN_OR_NETWORK = (
        "token or network",
        (
            "Check the token, as in DIGEST_SLACK_TOKEN:"
            " install the app again and copy its bot token (xoxb-…)."
            " Slack says the same if the app allows only other networks."
        ),
    )
    ASK_ADMINS = "ask admins", "Ask the workspace's administrators to let the app post."
    INVITE = (
        "invite",
        "Write /invite @… with the app's name in that channel, and check the channel's name or id.",
    )
    ADD_SCOPE = (
        "add scope",
        "Add the scope under OAuth & Permissions, and install the app again.",
    )
    TWO_FACTORS = (
        "two factors",
        "The account behind the token must set up two-factor sign-in.",
    )
    NETWORK_NOT_ALLOWED = (
        "network not allowed",
        "The workspace does not allow this network: ask its administrators.",
    )
    UNARCHIVE = "unarchive", "Unarchive the channel, or name another."
    MESSAGES_TAB = (
        "messages tab",
        "Switch on the app's Messages tab (App Home), or name a channel.",
    )
    CHECK_ID = "check id", "Check the id."
    NAME_PERSON = "name person", "Name a channel, or a person's id."
    ID_OF_ORGANISATION = (
        "id of organisation",
        "With an organisation's token, write the channel's id instead of its name.",
    )
    NO_REPLY = "no reply", "The first part can't be replied to."
    THREAD_LOCKED = "thread locked", "The first part's thread is locked."
    THREAD_GONE = "thread gone", "The first part is gone."

    # Of mail.
    NO_MAIL_ADDRESS = "no mail address", "{} is not a mail address: {}"
    CORRECT_ADDRESS = "correct address", "Correct it where the subscription names it."
    MAIL_NOT_ASKED = "mail not asked", "a mail server can't be asked which mails it took"
    MAIL_LIMIT = (
        "mail limit",
        "your mail server's limit of mails is reached: it answered {} at {}: {}",
    )
    LOGIN_LIMIT = (
        "login limit",
        "your mail server's limit of logins is reached: it answered {} at {}: {}",
    )
    MAIL_ANSWERED = "mail answered", "the mail server answered {} at {}: {}"
    BROKE_AFTER_DOT = (
        "broke after dot",
        "the connection broke after the final dot, before the mail server answered: {}",
    )
    SEARCH_MAIL_LOG = (
        "search mail log",
        "The server may have taken the mail. Search its log for the Message-ID.",
    )
    BROKE_BEFORE = (
        "broke before",
        "the connection broke at {}, before the mail was handed over: {}",
    )
    NOT_TRUSTED = "not trusted", "the certificate of {} can't be trusted: {}"
    NAME_CERTIFICATE = (
        "name certificate",
        "Write the name the certificate carries. {} Or name it in mail.ca_file.",
    )
    NO_SECURE_CONNECTION = "no secure connection", "no secure connection to {}: {}"
    CHECK_HOST = "check host", "Check the host's name, and whether the server runs. {}"
    NO_PASSWORD = "no password", "{} takes no password: it offers {} alone"
    NOT_OFFERED = "not offered", "{} does not offer what Digest needs at {}: {}"
    LOGINS_ENCRYPTED = (
        "logins encrypted",
        (
            "{} Many servers take logins only over encryption."
            " A server without logins wants no name in `mail.smtp`."
        ),
    )
    STOPPED_HERE = "stopped here", "{} was not reached: this process stopped the connection"
    LIMIT_PASSES = (
        "limit passes",
        (
            "It is tried again by itself, after a pause."
            " Your mail provider says how many mails, connections and logins you may have."
        ),
    )
    OTHER_LOGIN = (
        "other login",
        (
            "Use an app password, if your mail provider has them."
            " Else use a relay or another provider: `digest help mail`."
        ),
    )
    CHECK_ENCRYPTION = (
        "check encryption",
        "Check `mail.smtp`: smtp+starttls:// is usual on port 587, smtps:// on 465.",
    )
    MAILBOX_FULL = (
        "mailbox full",
        (
            "The reader's mailbox is full or switched off, or the mail is too large."
            " A smaller `show` makes it shorter."
        ),
    )
    CHECK_LOGIN = (
        "check login",
        (
            "Check the login name in `mail.smtp`, and the password."
            " Many providers want an app password: `digest help mail`."
        ),
    )
    POLICY = (
        "policy",
        (
            "The server's policy refuses this machine, its sender or the mail, not the reader."
            " Check `mail.from`, `mail.helo`, the sender's domain (SPF, DKIM, DMARC)"
            " and block lists,"
            " or ask the server's operator."
        ),
    )
    CHECK_SENDER = (
        "check sender",
        "Check `mail.from`: the server does not take mail from it.",
    )
    CHECK_RECIPIENT = "check recipient", "Check the address."
    DROP_RECIPIENT = (
        "drop recipient",
        "Check the address, or take it out of the subscription.",
    )

    # Of files and the console.
    NO_FILE_NAME = "no file name", "{} cannot be the name of a file"
    PLAIN_NAME = "plain name", "A name has no folder, no leading dot and no control characters."
    NOT_OURS = (
        "not ours",
        "{} is not of Digest, so it stays as it is: move it, or name another folder",
    )
    NOT_WRITTEN = "not written", "{} can't be written: {}"
    DISK_FULL = "disk full", "The disk is full: make room; Digest tries again by itself."
    QUOTA_USED = "quota used", "The quota is used up: make room; Digest tries again by itself."
    READ_ONLY = (
        "read only",
        "The file system is read-only: mount it for writing, or name another folder.",
    )
    NOT_ALLOWED = (
        "not allowed",
        "Let the account of Digest write there, or name another folder.",
    )
    FILE_FOR_FOLDER = (
        "file for folder",
        "A file is where a folder should be: move it, or name another folder.",
    )
    FOLDER_FOR_FILE = (
        "folder for file",
        "A folder is where the file should be: move it, or name another file.",
    )
    MOUNTED_ALONE = (
        "mounted alone",
        "The file is mounted by itself, as in a container: mount its whole folder.",
    )
    SHORTER_NAME = "shorter name", "Choose a shorter name."
    CONSOLE_FAILED = "console failed", "the console can't be written to: {}"
    CONSOLE_READER_GONE = (
        "console reader gone",
        "Its reader has stopped, or its disk is full. Run again with the output to a terminal.",
    )
    CONSOLE_NOT_ASKED = "console not asked", "a console cannot be asked what it showed"


@dataclass(frozen=True, slots=True)
class Said:
    """A code and its arguments; false if nothing is said.

    It is no text, so that nothing can be decided by words: `str` makes them for people.
    """

    code: Saying = Saying.NOTHING
    args: tuple[Argument, ...] = ()

    @classmethod
    def of(cls, code: Saying, *args: Argument) -> Self:
        """Return what a sentence says with these arguments, one for each hole."""
        return cls(code, args)

    @classmethod
    def plain(cls, words: str) -> Self:
        """Return words that have no code, as of the other side; "" says nothing."""
        return cls(Saying.WORDS, (words,)) if words else cls()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `dump` wrote."""
        from json import loads  # noqa: PLC0415 - the help of a command needs none

        return cls._read(loads(text)) if text else cls()

    @classmethod
    def _read(cls, parts: Iterable[Any]) -> Self:
        code, *rest = parts
        args = [one if isinstance(one, str) else cls._read(one) for one in rest]
        return cls(Saying(code), tuple(args))

    def dump(self) -> str:
        """Write it as compact JSON, the code first; "" if nothing is said."""
        from json import dumps  # noqa: PLC0415 - the same

        parts = _list_parts(self)
        return dumps(parts, ensure_ascii=False, separators=(",", ":")) if self else ""

    def change_texts(self, change: Callable[[str], str]) -> Self:
        """Return the same with each text among its arguments changed, however deep that is."""
        args = [
            one.change_texts(change) if isinstance(one, Said) else change(one) for one in self.args
        ]
        return replace(self, args=tuple(args))

    def split_cause(self) -> tuple[str, Argument]:
        """Return what is said up to its cause, and the cause; "" if it has none.

        The cause is the last argument of a sentence such as `…: {}`.
        """
        head, mark, _ = self.code.sentence.rpartition(": {}")
        if not mark or not self.code.sentence.endswith(mark):
            return str(self), ""
        *others, cause = self.args
        return head.format(*others), cause

    def without_stop(self) -> Self:
        """Return the same without the full stop that an argument at its end may bring."""
        if not self.args or not self.code.sentence.endswith("{}"):
            return self
        *others, last = self.args
        bare = last.without_stop() if isinstance(last, Said) else last.rstrip(".")
        return replace(self, args=(*others, bare))

    def __bool__(self) -> bool:
        return self.code is not Saying.NOTHING

    def __str__(self) -> str:
        texts = [str(one) for one in self.args]
        if self.code is Saying.ADVISED:  # what is advised is a sentence, with a full stop
            texts = [one.rstrip(".") for one in texts]
        return self.code.sentence.format(*texts)


def _list_parts(said: Said) -> list[object]:
    args = [_list_parts(one) if isinstance(one, Said) else one for one in said.args]
    return [said.code, *args]


NOTHING = Said()
"""Nothing is said."""


def advise(said: Said, advice: Said) -> Said:
    """Return what is wrong with what helps, if anything does."""
    return Said.of(Saying.ADVISED, said, advice) if advice else said
