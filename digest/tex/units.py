# ruff: noqa: RUF001 - some of these signs look like others
r"""Chemistry, units and numbers as packages write them: `\ce{SO4^2-}`, `\unit{\km\per\s}`, `\num{1e5}`.

Each function turns an argument as typed into Unicode. Chemistry is mhchem's, units and numbers are
siunitx's.
"""

from __future__ import annotations

import re

from digest.tex.symbols import LOWERED, RAISED, SYMBOLS, list_pairs, shift

_PREFIXES = """
kilo k mega M giga G tera T peta P exa E milli m micro µ nano n pico p femto f atto a centi c deci d hecto h
per / squared ² cubed ³
"""
_UNITS = """
meter m metre m gram g kilogram kg second s minute min hour h day d year yr kelvin K joule J watt W volt V
ampere A hertz Hz newton N pascal Pa tesla T gauss G mole mol parsec pc lightyear ly angstrom Å degree °
arcminute ′ arcsecond ″ percent % barn b byte B litre L liter L ohm Ω farad F henry H weber Wb coulomb C
becquerel Bq gray Gy sievert Sv astronomicalunit au dalton Da decibel dB molar M radian rad steradian sr
candela cd lumen lm electronvolt eV celsius ℃ degreeCelsius ℃ um µm us µs ug µg uK µK uA µA uW µW uJ µJ uL µL
"""
_NAMES = list_pairs(_PREFIXES) | {name: f"{symbol} " for name, symbol in list_pairs(_UNITS).items()}
"""Name in a unit -> what it prints; a name that is missing is its own symbol, as "GeV"."""

_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
_POWER = re.compile(r"\^\{?([-+]?\d+)\}?")
_BLANK_BEFORE_POWER = re.compile(r"\s(?=[/²³⁰¹⁴-⁹⁻])")
_BLANK_BEFORE_ANGLE = re.compile(r" (?=[°′″])")

_NUMBER_SIGNS = {"+-": " ± ", "x": " × ", ";": ", ", "-": "−"}
_NUMBER_SIGN = re.compile(r"(?<![eE])(\+-|x|;|-)")
_EXPONENT = re.compile(r"(\d?)[eE]\+?(-?\d+)")

_ARROWS = {"->": " → ", "<-": " ← ", "<->": " ↔ ", "<=>": " ⇌ "}
_ARROW = re.compile(r"(<=>|<->|->|<-)")
_RAISED = re.compile(r"\^\{([^{}]*)\}|\^(\d*[-+]|\w)|(?<=[A-Za-z)\]\d])([-+])(?![^\s)\]])")
_LOWERED = re.compile(r"_\{([^{}]*)\}|_(\w)|(?<=[A-Za-z)\]])(\d+)")

_STAGES = list_pairs("1 I 2 II 3 III 4 IV 5 V 6 VI 7 VII 8 VIII 9 IX 10 X")


def _shift_found(found: re.Match[str], table: dict[str, str]) -> str:
    written = found[found.lastindex or 0]
    return shift(written, table) or written


def write_chemistry(written: str) -> str:
    """Return a formula of chemistry: "SO4^2-" as "SO₄²⁻", and "->" as an arrow."""
    named = _COMMAND.sub(
        lambda found: SYMBOLS.get(found[1], (found[1],))[0], written.replace("$", "")
    )
    pointed = _ARROW.sub(lambda found: _ARROWS[found[1]], named)
    raised = _RAISED.sub(lambda found: _shift_found(found, RAISED), pointed)
    return _LOWERED.sub(lambda found: _shift_found(found, LOWERED), raised)


def write_ion(element: str, stage: str) -> str:
    """Return an ion as astronomers do: "Fe" and "xxv" as "Fe XXV", "H" and "2" as "H II"."""
    return f"{element} {_STAGES.get(stage, stage.upper())}"


def write_unit(written: str) -> str:
    r"""Return a unit: `\kilo\meter\per\second`, `\km\per\s` and "km/s" are all "km/s"."""
    named = _COMMAND.sub(lambda found: _NAMES.get(found[1], f"{found[1]} "), written)
    raised = _POWER.sub(lambda found: _shift_found(found, RAISED), named)
    parted = " ".join(raised.replace(".", " ").replace("~", " ").split())
    return _BLANK_BEFORE_POWER.sub("", parted)


def write_number(written: str) -> str:
    """Return a number: "1.5e-3" as "1.5×10⁻³", "3+-1" as "3 ± 1"."""
    signed = _NUMBER_SIGN.sub(lambda found: _NUMBER_SIGNS[found[1]], written)
    return _EXPONENT.sub(
        lambda found: f"{found[1] and found[1] + '×'}10{shift(found[2], RAISED)}", signed
    )


def write_quantity(number: str, unit: str) -> str:
    """Return a number and its unit; degrees, minutes and seconds of arc stand close."""
    return _BLANK_BEFORE_ANGLE.sub("", f"{write_number(number)} {write_unit(unit)}")
