"""Bins of `Box` action spaces, for all dimensions and for parts: 5, or 5 arm=3 legs.left=3,9."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperaction.errors import SettingError, unknown

BinsLike = int | Sequence[int | str] | Mapping[str, int | Sequence[int]]
"""Bins as they may be given: a number, several, options such as arm=5, or a table of parts."""


class Bins(NamedTuple):
    """Sub-actions per dimension: of all dimensions, and of parts with bins of their own."""

    every: tuple[int, ...]
    parts: dict[str, tuple[int, ...]]

    def of(self, path: str) -> tuple[tuple[int, ...], str]:
        """The bins of a part, or of the nearest part around it; and how they were given."""
        around = path
        while around:
            if around in self.parts:
                return self.parts[around], f"{around}={_joined(self.parts[around], ',')}"
            around = around.rpartition(".")[0]
        return self.every, _joined(self.every, " ")

    def check_parts(self, boxes: Sequence[str]) -> None:
        """Refuses bins of what is no `Box`; `boxes` are the paths of those that there are."""
        known = dict.fromkeys(
            ".".join(path.split(".")[:depth])
            for path in boxes
            for depth in range(1, path.count(".") + 2)
            if path
        )
        for name in self.parts:
            if name not in known:
                raise SettingError(
                    f"`bins`: {unknown('Box part', name, known)}"
                    if known
                    else f"`bins` {name}: the action space has no part that is a Box"
                )


def parsed(bins: BinsLike) -> Bins:
    """Bins of any form."""
    if isinstance(bins, Mapping):
        return Bins((), {str(name): whole_numbers("bins", of) for name, of in bins.items()})
    if isinstance(bins, str):
        raise SettingError(f"`bins` must be whole numbers, not {bins!r}")
    several = list(bins) if isinstance(bins, list | tuple) else [bins]
    named = [each for each in several if isinstance(each, str)]
    every = [each for each in several if not isinstance(each, str)]
    parts: dict[str, tuple[int, ...]] = {}
    for each in named:
        name, equals, numbers = each.rpartition("=")
        if not equals or not name or name in parts:
            raise SettingError(
                f"`bins` {each}: give whole numbers, and those of parts once each as in arm=5"
            )
        parts[name] = _split(each, numbers)
    if named and len(every) > 1:
        raise SettingError(
            f"`bins` {_joined(several, ' ')}: beside bins of parts, give one number for the others"
        )
    return Bins(whole_numbers("bins", every[0] if len(every) == 1 else every), parts)


def as_options(bins: BinsLike, default: Sequence[int]) -> tuple[int | str, ...]:
    """Bins of any form as the command line has them, with the default for parts without any."""
    every, parts = parsed(bins)
    named = (f"{name}={_joined(numbers, ',')}" for name, numbers in parts.items())
    return (*(every or default), *named)


def whole_numbers(name: str, given: Any) -> tuple[int, ...]:
    """One number or several, NumPy's too."""
    try:
        return tuple(operator.index(number) for number in np.ravel(given))
    except (TypeError, ValueError):
        raise SettingError(f"`{name}` must be whole numbers, not {given!r}") from None


def _split(option: str, numbers: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in numbers.split(","))
    except ValueError:
        raise SettingError(
            f"`bins` {option}: the bins of a part are whole numbers joined by commas, as in arm=3,9"
        ) from None


def _joined(numbers: Sequence[Any], by: str) -> str:
    return by.join(map(str, numbers))
