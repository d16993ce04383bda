# ruff: noqa: RUF001 - some of these signs look like others
r"""Chemistry, units and numbers as packages write them: `\ce{SO4^2-}`, `\unit{\km}`, `\num{1e5}`.

Each function turns an argument as typed into Unicode. Chemistry is mhchem's, units and numbers are
siunitx's.
"""

from __future__ import annotations

import re

from digest.tex.symbols import LOWERED, RAISED, SYMBOLS, list_pairs, shift

_PREFIXES = """
kilo k mega M giga G tera T peta P exa E milli m micro µ nano n pico p femto f atto a centi c
deci d hecto h per / squared ² cubed ³
"""
_UNITS = """
meter m metre m gram g kilogram kg second s minute min hour h day d year yr kelvin K joule J watt W
volt V ampere A hertz Hz newton N pascal Pa tesla T gauss G mole mol parsec pc lightyear ly
angstrom Å degree ° arcminute ′ arcsecond ″ percent % barn b byte B litre L liter L ohm Ω farad F
henry H weber Wb coulomb C becquerel Bq gray Gy sievert Sv astronomicalunit au dalton Da decibel dB
molar M radian rad steradian sr candela cd lumen lm electronvolt eV celsius ℃ degreeCelsius ℃ um µm
us µs ug µg uK µK uA µA uW µW uJ µJ uL µL
"""
_NAMES = list_pairs(_PREFIXES)
_NAMES |= {name: f"{symbol} " for name, symbol in list_pairs(_UNITS).items()}
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


def _raise_found(found: re.Match[str]) -> str:
    written = found[found.lastindex or 0]
    return shift(written, RAISED) or written


def _lower_found(found: re.Match[str]) -> str:
    written = found[found.lastindex or 0]
    return shift(written, LOWERED) or written


def _name_symbol(found: re.Match[str]) -> str:
    name = found[1]
    if name not in SYMBOLS:
        return name
    symbol, _ = SYMBOLS[name]
    return symbol


def write_chemistry(written: str) -> str:
    """Return a formula of chemistry: "SO4^2-" as "SO₄²⁻", and "->" as an arrow."""
    named = _COMMAND.sub(_name_symbol, written.replace("$", ""))
    pointed = _ARROW.sub(lambda found: _ARROWS[found[1]], named)
    raised = _RAISED.sub(_raise_found, pointed)
    return _LOWERED.sub(_lower_found, raised)


def write_ion(element: str, stage: str) -> str:
    """Return an ion as astronomers do: "Fe" and "xxv" as "Fe XXV", "H" and "2" as "H II"."""
    numeral = _STAGES.get(stage, stage.upper())
    return f"{element} {numeral}"


def write_unit(written: str) -> str:
    r"""Return a unit: `\kilo\meter\per\second`, `\km\per\s` and "km/s" are all "km/s"."""
    named = _COMMAND.sub(_name_unit, written)
    raised = _POWER.sub(_raise_found, named)
    parted = raised.replace(".", " ").replace("~", " ")
    return _BLANK_BEFORE_POWER.sub("", " ".join(parted.split()))


def _name_unit(found: re.Match[str]) -> str:
    name = found[1]
    return _NAMES.get(name, f"{name} ")


def write_number(written: str) -> str:
    """Return a number: "1.5e-3" as "1.5×10⁻³", "3+-1" as "3 ± 1"."""
    signed = _NUMBER_SIGN.sub(lambda found: _NUMBER_SIGNS[found[1]], written)
    return _EXPONENT.sub(_write_exponent, signed)


def _write_exponent(found: re.Match[str]) -> str:
    before, exponent = found.groups()
    times = f"{before}×" if before else ""
    return f"{times}10{shift(exponent, RAISED)}"


def write_quantity(number: str, unit: str) -> str:
    """Return a number and its unit; degrees, minutes and seconds of arc stand close."""
    quantity = f"{write_number(number)} {write_unit(unit)}"
    return _BLANK_BEFORE_ANGLE.sub("", quantity)
