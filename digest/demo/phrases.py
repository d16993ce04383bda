"""Sentences made-up papers are written in: raw TeX, with blanks for the words of a topic."""

from __future__ import annotations

TITLES = (
    "{Things} {setting}",
    "On the {quantity} of {things}",
    "Bounds on the {quantity} of {things} {setting}",
    "What limits the {quantity} of {things}?",
    "Measuring the {quantity} of {things} {setting}",
    "{Things} {setting}: a second look",
    "A short note on {things} {setting}",
    "{Things} and their {quantity}",
    "Estimating the {quantity} of {things} {setting}",
    "{Things} {setting}, revisited",
    "How far can {things} be trusted {setting}?",
    "A simple account of {things} {setting}",
)

OPENINGS = (
    "Much has been written about {things}, and rather little about what happens to them {setting}.",
    "We study {things} {setting}, where earlier work had to assume that the {quantity} is known.",
    "The {quantity} of {things} is often quoted and seldom measured.",
    "It is tempting to treat {things} as solved. We show that, {setting}, they are not.",
)

MIDDLES = (
    "Our approach needs no more than $n = {number}$ samples and one pass over the data.",
    "A careful comparison of {number} cases shows where the usual approximation breaks down.",
    "We derive a bound that is tight up to a factor of $\\log n$, and give an example that attains it.",
    "Against a strong baseline, the {quantity} improves by {number}\\% on average and never gets worse.",
    "The argument rests on a monotone quantity that had been overlooked, and takes {number} lines.",
)

ENDINGS = (
    "All data and code are available with the paper.",
    "Two open questions conclude the paper.",
    "The effect is small, but it has the right sign everywhere we looked.",
    "We close with advice for those who want to repeat the work.",
)

COMMENTS = (
    "{pages} pages, {figures} figures",
    "{pages} pages",
    "",
    "{pages} pages, {figures} figures, comments welcome",
    "To appear in the Proceedings of Unhurried Research",
)

REVISIONS = (
    "Accepted at the Symposium on Unhurried Systems",
    "Typos corrected, references added",
    "{pages} pages, Section 4 rewritten after helpful reports",
    "New appendix with the proof of Lemma 2",
)
