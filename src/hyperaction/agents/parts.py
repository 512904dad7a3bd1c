"""Configurations made of parts: changing them by name, checking them, and storing them as JSON.

A part is a frozen dataclass that is registered under a name (`exploration`, `optimiser` and so on
have a registry each), or any object of the user's own that does the same. Settings of a part are
named `part.setting`, or by `setting` alone where only one part has it; a setting that only another
choice of a part has chooses that one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from hyperaction.errors import SettingError, unknown
from hyperaction.references import Imported, is_reference

Config = TypeVar("Config")
Registry = Mapping[str, type[Any]]

CUSTOM = "custom"
"""What a stored configuration has for an object of the user's own, which is not stored."""


def part(
    registry: Registry,
    default: Any,
    *,
    kept: Sequence[str] = (),
    is_new: bool = False,
    by_reference: bool = False,
) -> Any:
    """A field that holds a part of a registry.

    Args:
        registry: The choices.
        default: The part by default.
        kept: Settings that another choice takes over from the part before it, where it has them.
        is_new: Whether runs of earlier versions had none, as with the default; see `added`.
        by_reference: Whether it may be one of the user's own, as `module:Class`.
    """
    metadata = {"registry": registry, "kept": tuple(kept), "is_new": is_new}
    metadata["by_reference"] = by_reference
    return field(default=default, metadata=metadata)


def added(default: Any) -> Any:
    """A setting that runs of earlier versions had at this default without storing it.

    It is stored where it is another, so that such runs resume.
    """
    return field(default=default, metadata={"is_new": True})


def with_changes(config: Config, changes: Mapping[str, Any]) -> Config:
    """The configuration with other settings: parts, settings of parts, and its own.

    Args:
        config: A configuration.
        changes: Values by name. A part is given by the name of a registered one or as an object.
    """
    changes = implied_parts(config, changes) | dict(changes)
    by_field = {each.name: each for each in fields(config)}  # type: ignore[arg-type]
    own: dict[str, Any] = {}
    of_parts: dict[str, Any] = {}
    for name, value in changes.items():
        if name in by_field:
            value = as_part(by_field[name], value)
        if name not in by_field:
            of_parts[name] = value
        elif "registry" in by_field[name].metadata:
            own[name] = _chosen(by_field[name], getattr(config, name), value)
        else:
            own[name] = native(value)
    groups: dict[str, dict[str, Any]] = {}
    for name, value in of_parts.items():
        owner, setting = _owner(config, own, name)
        groups.setdefault(owner, {})[setting] = native(value)
    for owner, settings in groups.items():
        before = own.get(owner, getattr(config, owner))
        try:
            own[owner] = replace(before, **settings)
        except SettingError as error:
            raise error.with_prefix(owner) from None
    return replace(config, **own)  # type: ignore[type-var]


def as_part(each: Field[Any], value: Any) -> Any:
    """A value of a field; where it is a reference to a part of the user's own, that part."""
    if each.metadata.get("by_reference") and is_reference(value):
        return Imported(value, each.name)
    return value


def implied_parts(config: Any, given: Mapping[str, Any]) -> dict[str, str]:
    """The parts that settings ask for which only one other choice of one part has.

    So `quantiles` chooses the objective `quantile`, unless an objective is chosen by name, or a
    part that is has such a setting.
    """
    parts = {each.name: each for each in fields(config) if "registry" in each.metadata}
    groups = [given.get(each.name, getattr(config, each.name)) for each in fields(config)]
    for name, each in parts.items():
        if isinstance(given.get(name), str):
            groups.append(each.metadata["registry"].get(given[name]))
    present = {n for group in groups if is_dataclass(group) for n in _names(group)}
    implied: dict[str, str] = {}
    own = {each.name for each in fields(config)}
    for name in (name for name in given if name not in own):
        owner, _, setting = name.rpartition(".")
        if setting in present:
            continue
        having = [
            (part, choice)
            for part, field_ in parts.items()
            if part not in given and owner in ("", part)
            for choice, kind in field_.metadata["registry"].items()
            if setting in _names(kind)
        ]
        if len(having) == 1:
            implied.update(having)
    return implied


def _chosen(each: Field[Any], before: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    registry: Registry = each.metadata["registry"]
    if value not in registry:
        raise SettingError(f"`{each.name}`: {unknown(each.name, value, registry)}")
    kind = registry[value]
    if type(before) is kind:
        return before
    kept = set(each.metadata["kept"]) & set(_names(kind))
    return kind(**{name: getattr(before, name) for name in kept if hasattr(before, name)})


def _owner(config: Any, own: Mapping[str, Any], name: str) -> tuple[str, str]:
    """The part that a setting belongs to, and the setting's name there."""
    parts = {
        each.name: value
        for each in fields(config)
        if is_dataclass(value := own.get(each.name, getattr(config, each.name)))
    }
    owner, _, setting = name.rpartition(".")
    if owner in parts and setting in _names(parts[owner]):
        return owner, setting
    owners = [key for key, value in parts.items() if name in _names(value)]
    if len(owners) == 1:
        return owners[0], name
    if owners:
        which = " or ".join(f"`{key}.{name}`" for key in owners)
        raise SettingError(f"`{name}` is ambiguous; choose {which}")
    known = [each.name for each in fields(config)]
    known += [f"{key}.{each}" for key, value in parts.items() for each in _names(value)]
    short = [each for value in parts.values() for each in _names(value)]
    choices = f"choose from {', '.join(known)}"
    raise SettingError(unknown("setting", name, dict.fromkeys(known + short), choices))


def _names(value: Any) -> list[str]:
    return [each.name for each in fields(value) if each.init]


def native(value: Any) -> Any:
    """NumPy's numbers as Python's, lists and arrays as tuples; all else as it is."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    return tuple(native(each) for each in value) if type(value) in (list, tuple) else value


def to_dict(config: Any) -> dict[str, Any]:
    """Every setting, ready for JSON; objects of the user's own by what they print as."""
    stored = [each for each in fields(config) if each.init and not _is_implied(config, each)]
    return {each.name: _plain(each, getattr(config, each.name)) for each in stored}


def _is_implied(config: Any, each: Field[Any]) -> bool:
    is_new = bool(each.metadata.get("is_new"))
    return is_new and getattr(config, each.name) == each.default


def _plain(each: Field[Any], value: Any) -> Any:
    registry: Registry | None = each.metadata.get("registry")
    if registry is not None:
        name = next((name for name, kind in registry.items() if type(value) is kind), CUSTOM)
        return {"name": name} | ({"is": _told(value)} if name == CUSTOM else to_dict(value))
    # Other dataclasses may be the user's own: a mixer, as any module of Equinox, is one too.
    is_group = type(value) is type(each.default) and not hasattr(value, "parse")
    if is_group and is_dataclass(value):
        return to_dict(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "parse"):
        return str(value)
    return {"name": CUSTOM, "is": _told(value)}


def _told(value: Any) -> str:
    """An object of the user's own as text that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def from_dict(kind: type[Config], data: Mapping[str, Any], own: Mapping[str, Any]) -> Config:
    """The configuration that was stored.

    Args:
        kind: Its class.
        data: What `to_dict` gave.
        own: Objects of the user's own, by the names of their parts, which are not stored.
    """
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for each in fields(kind):  # type: ignore[arg-type]
        if not each.init:
            continue
        if each.name in own:
            values[each.name] = as_part(each, own[each.name])
        elif each.name in data:
            values[each.name] = _restored(each, hints[each.name], data[each.name])
    return kind(**values)


def _restored(each: Field[Any], hint: Any, value: Any) -> Any:
    if isinstance(value, Mapping):
        name = str(value.get("name"))
        if name == CUSTOM:
            raise SettingError(
                f"`{each.name}` was an object of your own ({value.get('is')}), which is not "
                f"stored; pass `{each.name}` again"
            )
        settings = {key: v for key, v in value.items() if key != "name"}
        registry: Registry | None = each.metadata.get("registry")
        if registry is None and not is_dataclass(each.default):
            raise SettingError(f"`{each.name}` must not be a table")
        if registry is None:
            return from_dict(type(each.default), settings, {})
        if name not in registry:
            raise SettingError(f"`{each.name}`: {unknown(each.name, name, registry)}")
        return from_dict(registry[name], settings, {})
    if "registry" in each.metadata or is_dataclass(each.default):
        raise SettingError(f"`{each.name}` must be a table, not {value!r}")
    if isinstance(each.default, str) and not isinstance(value, str):
        raise SettingError(f"`{each.name}` must be a string, not {value!r}")
    schedules = [kind for kind in get_args(hint) if hasattr(kind, "parse")]
    if schedules and isinstance(value, str):
        return schedules[0].parse(value)
    return native(value)


def check(config: Any, *, at_least: Mapping[str, float] | None = None) -> None:
    """Refuses values of other types than the fields', numbers that are not finite, or too low.

    NumPy's numbers, and lists, become Python's numbers and tuples.
    """
    for name, kind in get_type_hints(type(config)).items():
        if name in {each.name for each in fields(config)}:
            object.__setattr__(config, name, native(getattr(config, name)))
            _check_type(name, getattr(config, name), kind)
    for name, least in (at_least or {}).items():
        value = getattr(config, name)
        if isinstance(value, int | float) and value < least:
            raise SettingError(f"`{name}` must be at least {least:g}, not {value}")


def _check_type(name: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise SettingError(f"`{name}`: {unknown('name', value, get_args(kind))}")
    elif get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        right = isinstance(value, tuple) and all(isinstance(each, inner) for each in value)
        if not right:
            raise SettingError(f"`{name}` must be a list of {_called(inner)}s, not {value!r}")
    elif get_origin(kind) is UnionType:
        plain = tuple(each for each in get_args(kind) if isinstance(each, type))
        if Any in get_args(kind) or isinstance(value, plain):
            return _check_finite(name, value)
        if float in plain and isinstance(value, int) and not isinstance(value, bool):
            return _check_finite(name, value)
        names = " or ".join(_called(each) for each in plain if each is not NoneType)
        raise SettingError(f"`{name}` must be {names}, not {value!r}")
    elif kind in (int, float, bool, str):
        wanted = (int, float) if kind is float else kind
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
            raise SettingError(f"`{name}` must be {_an(_called(kind))}, not {value!r}")
        _check_finite(name, value)
    return None


def _check_finite(name: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"`{name}` must be finite, not {value}")


def _called(kind: type[Any]) -> str:
    known = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return known.get(kind, kind.__name__)


def _an(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def check_sizes(name: str, sizes: Sequence[int], *, least: int = 1) -> None:
    """Refuses a list with a number that is too low, or that no array can be long."""
    for size in sizes:
        if size < least:
            raise SettingError(f"`{name}` must be at least {least}, not {size}")
        if size >= 2**31:
            raise SettingError(f"`{name}` must be below 2,147,483,648, not {size:,}")
