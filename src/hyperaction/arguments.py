"""Command-line arguments from dataclasses: one option per field, its docstring as help.

Fields that are dataclasses themselves become groups: their options are written `--group.field`, or
`--field` alone where no other option has that name. A field with a registry of parts in its
metadata is chosen by name (`--group NAME`), and has the options of the chosen part.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from hyperaction.errors import SettingError, option, unknown

Options = TypeVar("Options")


class ArgumentError(ValueError):
    """Arguments that do not describe valid options."""


@dataclass(frozen=True)
class Positional:
    """Marks a field that is given without a flag: `Annotated[Path, Positional("DIR")]`."""

    metavar: str


@dataclass(frozen=True)
class Option:
    """One option: where its value belongs, and what it may be."""

    name: str
    """Dotted, with underscores: `optimiser.learning_rate`."""
    kind: Any
    help: str
    default: Any = MISSING
    positional: str = ""
    group: str = ""
    choices: tuple[str, ...] = ()
    """The names of a registry, where the option chooses a part."""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return self.positional or option(self.name)

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return self.kind is bool

    @property
    def takes_many(self) -> bool:
        """Whether it takes any number of values."""
        return get_origin(self.kind) is tuple


Given = dict[str, list[str] | bool]
"""What was typed, by flag (`--seed`) or metavar of what has none (`ENV`); not converted yet."""


def parse(kind: type[Options], command: str, args: Sequence[str]) -> Options:
    """The options that the arguments of a command give.

    Args:
        kind: A dataclass.
        command: The command's name, for messages.
        args: What was typed after it.
    """
    known = list(options_of(kind))
    with blame(command):
        given = scan(flags_of(known), args)
        if given is None:
            show_help(command, kind.__doc__ or "", known)
        values = resolve(known, given)
        check_required(known, values)
        return kind(**values)


class blame:  # noqa: N801 (a context manager, used as a function)
    """Turns errors about settings into one line that names options and the command's help."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: Any, _: Any) -> None:
        if isinstance(error, ValueError):
            text = error.for_command_line if isinstance(error, SettingError) else str(error)
            raise ArgumentError(f"{text} (hyperaction {self.command} --help)") from None


def options_of(
    kind: type[Any], default: Any = None, *, prefix: str = "", group: str = ""
) -> Iterator[Option]:
    """The options of a dataclass: its fields, those of its groups, and of its default parts."""
    hints, docs = get_type_hints(kind, include_extras=True), docstrings(kind)  # type: ignore
    for each in fields(kind):
        if not each.init or each.metadata.get("hidden"):
            continue
        hint, name = hints[each.name], f"{prefix}{each.name}"
        value = getattr(default, each.name) if default is not None else _default(each)
        registry: Mapping[str, type[Any]] | None = each.metadata.get("registry")
        help_ = docs.get(each.name, "")
        if registry is not None:
            chosen = _name_in(registry, value)
            yield Option(name, str, help_, chosen, "", name, tuple(registry))
            if is_dataclass(value):
                yield from options_of(type(value), value, prefix=f"{name}.", group=name)
        elif is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "parse"):
            yield from options_of(type(value), value, prefix=f"{name}.", group=name)
        else:
            hint = each.metadata.get("type", hint)
            marks = [mark for mark in get_args(hint)[1:] if isinstance(mark, Positional)]
            metavar = marks[0].metavar if get_origin(hint) is Annotated and marks else ""
            plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            choices = keys_of(each.metadata["names"]) if "names" in each.metadata else ()
            yield Option(name, plain, help_, value, metavar, group, choices)


def flags_of(known: Iterable[Option]) -> dict[str, Option]:
    """The options by flag: by their whole name, and by its last part where that is unambiguous."""
    options = list(known)
    flags = {each.flag: each for each in options}
    ends: dict[str, list[Option]] = {}
    for each in options:
        if "." in each.name:
            ends.setdefault(option(each.name.rsplit(".", 1)[-1]), []).append(each)
    short = {end: of[0] for end, of in ends.items() if len(of) == 1 and end not in flags}
    return flags | short


def scan(flags: Mapping[str, Option], args: Sequence[str]) -> Given | None:
    """One parse of all arguments, in any order; nothing where help is asked for."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    for flag, each in flags.items():
        if each.positional:
            continue
        if each.is_switch:
            parser.add_argument(flag, dest=flag, action="store_true", default=None)
            no = f"--no-{flag[2:]}"
            parser.add_argument(no, dest=flag, action="store_false", default=None)
        else:
            many = "*" if each.takes_many else 1
            parser.add_argument(flag, dest=flag, nargs=many, default=None)
    found, rest = parser.parse_known_args(list(args))
    if found.help:
        return None
    for arg in rest:
        if arg.startswith("-") and len(arg) > 1:
            raise ArgumentError(unknown("option", arg.split("=")[0], flags).replace("'", ""))
    given: Given = {flag: value for flag, value in vars(found).items() if flag in flags}
    given = {flag: value for flag, value in given.items() if value is not None}
    for flag, each in flags.items():
        if each.positional and rest:
            taken = rest if each.takes_many else rest[:1]
            given[flag], rest = taken, rest[len(taken) :]
    if rest:
        raise ArgumentError(f"unexpected argument {rest[0]}")
    return given


def resolve(known: Iterable[Option], given: Given) -> dict[str, Any]:
    """The values of options by name, converted to their types."""
    flags = flags_of(known)
    values = {}
    for flag, value in given.items():
        if flag not in flags:
            raise ArgumentError(f"{flag} does not belong to the chosen parts")
        values[flags[flag].name] = convert(flags[flag], value)
    return values


def check_required(known: Iterable[Option], values: Mapping[str, Any]) -> None:
    """Refuses arguments that lack an option without a default."""
    for each in known:
        if each.default is MISSING and each.name not in values:
            raise ArgumentError(f"{each.flag} is missing")


class _Parser(argparse.ArgumentParser):
    """Raises instead of printing and leaving."""

    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message.removeprefix("argument ").replace(": ", " ", 1))


def convert(given: Option, value: list[str] | bool) -> Any:
    """A value as its option's type."""
    if isinstance(value, bool):
        return value
    if given.takes_many:
        inner = get_args(given.kind)[0]
        return tuple(_converted(given, text, inner) for text in value)
    return _converted(given, value[0], given.kind)


def _converted(given: Option, text: str, kind: Any) -> Any:
    if given.choices and text not in given.choices and ":" not in text:
        raise ArgumentError(f"{given.flag}: {unknown('name', text, given.choices)}")
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ArgumentError(f"{given.flag}: {unknown('name', text, get_args(kind))}")
        return text
    if get_origin(kind) is UnionType:
        for part in get_args(kind):
            if part is NoneType:
                continue
            try:
                return _converted(given, text, part)
            except (ArgumentError, ValueError):
                continue
        raise ArgumentError(f"{given.flag} {text!r} is not {metavar(kind).lower()}")
    if hasattr(kind, "parse"):
        return kind.parse(text)
    try:
        return CONVERTERS[kind](text)
    except (ValueError, OverflowError):
        what = {int: "a whole number", float: "a number"}[kind]
        raise ArgumentError(f"{given.flag} {text!r} is not {what}") from None


def whole_number(text: str) -> int:
    """A whole number, which may be written as 1e6."""
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if number != int(number):
            raise
        return int(number)


CONVERTERS: dict[Any, Callable[[str], Any]] = {
    int: whole_number,
    float: float,
    str: str,
    Path: Path,
}


def show_help(command: str, description: str, known: Sequence[Option]) -> NoReturn:
    """Prints what a command takes, group by group."""
    formatter = argparse.RawDescriptionHelpFormatter
    required = " ".join(each.positional for each in known if each.positional)
    usage = f"hyperaction {command} {required + ' ' if required else ''}[OPTIONS]"
    parser = argparse.ArgumentParser(
        usage=usage,
        description=inspect.cleandoc(description),
        formatter_class=formatter,
        add_help=False,
    )
    titles = list(dict.fromkeys(each.group for each in known if not each.positional))
    groups = {title: parser.add_argument_group(title or "options") for title in titles}
    for each in known:
        text = " ".join(each.help.split()).replace("%", "%%")
        if each.positional:
            parser.add_argument(each.name, metavar=each.positional, help=text)
            continue
        shown = default_text(each)
        groups[each.group].add_argument(
            each.flag, metavar="" if each.is_switch else _metavar_of(each), help=f"{text}{shown}"
        )
    print(parser.format_help().rstrip())
    raise SystemExit(0)


def default_text(given: Option) -> str:
    """An option's default, for its help."""
    if given.default is MISSING:
        return ""
    if given.default in ("", (), None):
        return " (default: none)"
    if isinstance(given.default, bool):
        return " (default: on; --no-...)" if given.default else " (default: off)"
    if isinstance(given.default, tuple):
        return f" (default: {' '.join(map(str, given.default))})"
    return f" (default: {given.default})"


def _metavar_of(given: Option) -> str:
    if given.choices:
        return "{" + ",".join(given.choices) + "}"
    return metavar(given.kind)


def metavar(kind: Any) -> str:
    """A type, as help writes it."""
    if get_origin(kind) is Literal:
        return "{" + ",".join(map(str, get_args(kind))) + "}"
    if get_origin(kind) is tuple:
        return f"{metavar(get_args(kind)[0])} ..."
    if get_origin(kind) is UnionType:
        return "|".join(metavar(part) for part in get_args(kind) if part is not NoneType)
    return {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}.get(kind, kind.__name__.upper())


def _default(each: Field[Any]) -> Any:
    return each.default_factory() if each.default_factory is not MISSING else each.default


def _name_in(registry: Mapping[str, type[Any]], value: Any) -> str:
    return next((name for name, kind in registry.items() if type(value) is kind), "")


@cache
def keys_of(registry: str) -> tuple[str, ...]:
    """The names in a registry such as `package.module:NAMES`, read from the module's source.

    Nothing is imported, as the module may need libraries that take long to load.
    """
    module, _, attribute = registry.partition(":")
    package, *inner = module.split(".")
    spec = find_spec(package)  # Of an inner module, it would import the packages around it.
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent.joinpath(*inner)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == attribute:
            assert isinstance(statement, ast.AnnAssign)
            assert isinstance(statement.value, ast.Dict)
            return tuple(str(ast.literal_eval(key)) for key in statement.value.keys if key)
    raise LookupError(f"there is no registry {registry}")


@cache
def docstrings(kind: type[Any]) -> dict[str, str]:
    """The docstrings below the fields of a dataclass, and of those that it inherits."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not is_dataclass(base):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for statement, after in zip(tree.body, tree.body[1:], strict=False):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[statement.target.id] = inspect.cleandoc(str(after.value.value))
    return found
