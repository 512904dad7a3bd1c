"""The command doctor."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement

from hyperaction.arguments import parse
from hyperaction.version import __version__

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")
"""Those whose versions matter most to results and speed."""

NOT_FOR_USERS = ("all", "dev", "docs")
"""Extras that are not examined: the sum of others, and those for people who change us."""


@dataclass(frozen=True)
class DoctorOptions:
    """Show what Hyperaction runs with here, and what is missing for each of its extras."""

    json: bool = False
    """Print JSON."""


def main(args: Sequence[str]) -> None:
    """Prints what there is and what is missing."""
    options: DoctorOptions = parse(DoctorOptions, "doctor", args)
    found = examine()
    print(json.dumps(found, indent=2) if options.json else "\n".join(_lines(found)))


def examine() -> dict[str, Any]:
    """Versions, devices, kernels, the cache of compiled programs and the extras."""
    return {
        "hyperaction": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in PACKAGES},
        "devices": _or_problem(_devices),
        "kernels": _or_problem(_kernels),
        "cache": _or_problem(_cache),
        "extras": extras(),
    }


def _or_problem(examined: Callable[[], Any]) -> Any:
    """What was found; or the message, such as that of an environment variable that is wrong."""
    try:
        return examined()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return {"problem": str(error).partition("\n")[0]}


def _devices() -> list[str]:
    import jax

    return [f"{device.platform}: {device.device_kind}" for device in jax.devices()]


def _kernels() -> dict[str, Any]:
    from hyperaction import kernels

    return {
        "machine_sets": list(kernels.machine_sets()),
        "chosen_set": kernels.chosen_set(),
        "used": kernels.in_use(),
        "problem": kernels.problem(),
    }


def _cache() -> dict[str, Any]:
    from hyperaction.training import compile_cache

    if users_own := compile_cache.users_own():
        return {"problem": f"JAX's own, in {users_own}"}
    folder = compile_cache.directory()
    used = compile_cache.usage(folder) if folder else compile_cache.Usage(0, 0)
    return {
        "directory": str(folder) if folder else None,
        "programs": used.entries,
        "bytes": used.bytes,
        "limit": compile_cache.LIMIT,
    }


def extras() -> dict[str, dict[str, list[str]]]:
    """For each extra: what is installed, missing or too old, and not for this Python."""
    try:
        requirements = [Requirement(each) for each in metadata.requires("hyperaction") or ()]
    except metadata.PackageNotFoundError:  # It runs from its sources.
        return {}
    found: dict[str, dict[str, list[str]]] = {}
    for extra in metadata.metadata("hyperaction").get_all("Provides-Extra") or []:
        if extra not in NOT_FOR_USERS:
            own = [each for each in requirements if f'extra == "{extra}"' in str(each.marker)]
            found[extra] = {"installed": [], "missing": [], "unavailable": []}
            for requirement in own:
                kind, text = _checked(requirement, extra)
                found[extra][kind].append(text)
    return found


def _checked(requirement: Requirement, extra: str) -> tuple[str, str]:
    version = _version(requirement.name)
    if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
        return "unavailable", requirement.name
    if version is None:
        return "missing", requirement.name
    if version not in requirement.specifier:
        return "missing", f"{requirement.name}{requirement.specifier} (not {version})"
    return "installed", f"{requirement.name} {version}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _lines(found: dict[str, Any]) -> list[str]:
    packages = [f"{name} {version or 'missing'}" for name, version in found["packages"].items()]
    width = max(map(len, found["extras"]), default=0) + 2
    return [
        f"hyperaction {found['hyperaction']}, Python {found['python']}, {found['system']}",
        f"  {sys.executable}",
        "",
        f"packages  {', '.join(packages)}",
        f"devices   {_shown(found['devices'], ', '.join)}",
        f"kernels   {_shown(found['kernels'], _shown_kernels)}",
        f"cache     {_shown(found['cache'], _shown_cache)}",
        "",
        "extras",
        *(
            f"  {name:<{width}}{_shown_extra(name, extra)}"
            for name, extra in found["extras"].items()
        ),
    ]


def _shown(found: Any, as_text: Callable[[Any], str]) -> str:
    problem = found.get("problem") if isinstance(found, dict) else ""
    return problem or as_text(found)


def _shown_kernels(found: dict[str, Any]) -> str:
    sets = ", ".join(found["machine_sets"])
    if not sets:
        return "none were built here (docs/contributing/kernels.md): their twins in JAX do the work"
    if not found["used"]:
        return f"none in use; this machine has {sets}"
    return f"{found['chosen_set']} (of {sets}): {', '.join(found['used'])}"


def _shown_cache(found: dict[str, Any]) -> str:
    if found["directory"] is None:
        return "off: every program is compiled anew"
    size = f"{found['bytes'] / 1e6:.1f} of at most {found['limit'] / 1e6:.0f} MB"
    return f"{found['directory']}: {found['programs']} compiled programs, {size}"


def _shown_extra(name: str, extra: dict[str, list[str]]) -> str:
    if extra["missing"]:
        return f"missing {', '.join(extra['missing'])}: pip install 'hyperaction[{name}]'"
    if extra["unavailable"]:
        return f"{', '.join(extra['unavailable'])} has no wheel for this Python"
    return ", ".join(extra["installed"])
