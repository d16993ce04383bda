"""Enumerations whose members are named by the million."""

from __future__ import annotations


class Named(str):
    """One of a few names; the annotations of a subclass are its members.

        class Side(Named):
            LEFT: ClassVar[Side]
            RIGHT: ClassVar[Side]

    In Python 3.11 each mention of an `Enum`'s member calls a function (`EnumType.__getattr__` makes it so), which
    took a third of the time formulas are read in. Here it is a plain attribute, and members are compared by `is`.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Make the members."""
        for name in cls.__annotations__:
            setattr(cls, name, cls(name))

    def __repr__(self) -> str:
        """Name the member as code does."""
        return f"{type(self).__name__}.{self}"
