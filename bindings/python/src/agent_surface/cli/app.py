"""Finds the surface in an application: a file or module that has one, or a function that makes one."""
from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

from ..surface import Surface


class Unusable(Exception):
    """What the command was given cannot be used; the text says why."""


def load(reference: str) -> Surface:
    """`path/to/app.py`, `package.module`, each with `:NAME` of a Surface or of a function that makes one."""
    where, _, name = reference.partition(":")
    module = _file(pathlib.Path(where)) if where.endswith(".py") else _module(where)
    names = [name] if name else ["surface", "create_surface"]
    found = next((getattr(module, each) for each in names if hasattr(module, each)), None)
    if found is None:
        raise Unusable(f"{where} has no `{'` or `'.join(names)}`; name the surface with {where}:NAME")
    surface = found() if callable(found) and not isinstance(found, Surface) else found
    if not isinstance(surface, Surface):
        raise Unusable(f"{reference} is a {type(surface).__name__}, not a Surface")
    return surface


def _file(path: pathlib.Path) -> types.ModuleType:
    if not path.is_file():
        raise Unusable(f"there is no file {path}")
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    spec = importlib.util.spec_from_loader(path.stem, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # hints in the module are looked up there
    sys.path.insert(0, str(path.parent))
    loader.exec_module(module)
    return module


def _module(name: str) -> types.ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as why:
        raise Unusable(f"{name} cannot be imported: {why}") from None
