r"""Chemistry, units and numbers as packages write them: `\ce{SO4^2-}`, `\unit{\km\per\s}`, `\num{1e5}`.

Each function turns an argument as typed into Unicode. Chemistry is mhchem's, units and numbers are siunitx's.
"""

from __future__ import annotations

import re

from digest.tex.symbols import LOWERED, RAISED, SYMBOLS, list_pairs, shift

_PREFIXES = list_pairs("""
kilo k mega M giga G tera T peta P exa E milli m micro µ nano n pico p femto f atto a centi c deci d hecto h
""")
_UNITS = list_pairs("""
meter m metre m gram g kilogram kg second s minute min hour h day d year yr kelvin K joule J watt W volt V
ampere A hertz Hz newton N pascal Pa tesla T gauss G mole mol parsec pc lightyear ly angstrom Å degree °
arcminute ′ arcsecond ″ percent % barn b byte B litre L liter L ohm Ω farad F henry H weber Wb coulomb C
becquerel Bq gray Gy sievert Sv astronomicalunit au dalton Da decibel dB molar M radian rad steradian sr
candela cd lumen lm electronvolt eV celsius ℃ degreeCelsius ℃ um µm us µs ug µg uK µK uA µA uW µW uJ µJ uL µL
""")
"""Unit's name -> its symbol; those that are missing are their own: `km`, `GeV`, `bit`."""

_POWERS = {"squared": "²", "cubed": "³"}
_UNIT_PART = re.compile(r"\\([A-Za-z]+)\s*|\^\{?([-−+]?\d+)\}?|([.~\s]+)|\\?(.)", re.DOTALL)
_SIGNS_OF_NUMBERS = {"+-": " ± ", "x": " × ", ";": ", ", "-": "−"}
_NUMBER_PART = re.compile(r"\s*(\+-|x|;)\s*|-|(\d?)[eEdD]([-+]?)0*(\d+)")

_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
_STAGES = list_pairs("1 I 2 II 3 III 4 IV 5 V 6 VI 7 VII 8 VIII 9 IX 10 X")
_ARROWS = {"->": " → ", "<-": " ← ", "<->": " ↔ ", "<=>": " ⇌ ", "<=>>": " ⇌ ", "<<=>": " ⇌ "}
_CHEMISTRY_PART = re.compile(
    r"\s*(?P<arrow><<=>|<=>>|<=>|<->|->|<-)\s*"
    r"|\^(?:\{(?P<up>[^{}]*)\}|(?P<charge>\d*[-+]|\w))"
    r"|_(?:\{(?P<down>[^{}]*)\}|(?P<index>\w))"
    r"|(?<=[A-Za-z)\]])(?P<count>\d+)"
    r"|(?<=[A-Za-z)\]\d])(?P<sign>[-+])(?![^\s)\]])"
)


def write_chemistry(written: str) -> str:
    """Return a formula of chemistry: `H2O` as `H₂O`, `SO4^2-` as `SO₄²⁻`, `->` as an arrow."""
    plain = _COMMAND.sub(lambda found: SYMBOLS.get(found[1], (found[1],))[0], written.replace("$", ""))
    return _CHEMISTRY_PART.sub(_write_chemical_part, plain.strip())


def _write_chemical_part(found: re.Match[str]) -> str:
    if found["arrow"]:
        return _ARROWS[found["arrow"]]
    raised = found["up"] or found["charge"] or found["sign"]
    if raised:
        return shift(raised, RAISED) or f"^({raised})"
    lowered = found["down"] or found["index"] or found["count"] or ""
    return shift(lowered, LOWERED) or f"_({lowered})"


def write_ion(element: str, stage: str) -> str:
    """Return an ion as astronomers do: `Fe` and `xxv` as `Fe XXV`, `H` and `2` as `H II`."""
    return f"{element} {_STAGES.get(stage, stage.upper())}"


def write_unit(written: str) -> str:
    r"""Return a unit: `\kilo\meter\per\second`, `\km\per\s` and `km/s` are all `km/s`."""
    unit = ""
    for name, power, blank, sign in _UNIT_PART.findall(written):
        if name in _PREFIXES:
            unit += _PREFIXES[name]
        elif name == "per" or sign == "/":
            unit = f"{unit.rstrip()}/"
        elif power or name in _POWERS:
            unit = f"{unit.rstrip()}{_POWERS.get(name) or shift(power, RAISED)} "
        else:
            unit += f"{_UNITS.get(name, name)} " if name else sign or " " * bool(blank)
    return " ".join(unit.split())


def write_quantity(number: str, unit: str) -> str:
    """Return a number and its unit; degrees, minutes and seconds of arc stand close."""
    symbol = write_unit(unit)
    blank = "" if symbol.startswith(("°", "′", "″")) else " "
    return f"{write_number(number)}{blank}{symbol}"


def write_range(first: str, last: str, unit: str) -> str:
    """Return two numbers and their unit: `1–3 km`."""
    return f"{write_number(first)}–{write_quantity(last, unit)}"


def write_number(written: str) -> str:
    """Return a number: `1.5e-3` as `1.5×10⁻³`, `3+-1` as `3 ± 1`."""
    return _NUMBER_PART.sub(_write_number_part, written.strip())


def _write_number_part(found: re.Match[str]) -> str:
    if found[4]:
        power = shift(found[3].replace("+", "") + found[4], RAISED)
        return f"{found[2]}{'×' * bool(found[2])}10{power}"
    return _SIGNS_OF_NUMBERS[found[1] or found[0]]
