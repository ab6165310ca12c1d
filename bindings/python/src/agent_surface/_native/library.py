"""Finds and loads the shared library, and refuses one whose ABI is not the one this package was written for."""
import ctypes
import os
import pathlib
import sys

from . import codes

ENVIRONMENT = "AGENT_SURFACE_LIBRARY"


class LibraryError(ImportError):
    """The shared library is missing, cannot be loaded, or has another ABI."""


def file_name() -> str:
    if sys.platform == "darwin":
        return "libagent_surface.dylib"
    if sys.platform == "win32":
        return "agent_surface.dll"
    return "libagent_surface.so"


def path() -> str:
    """The library of the environment variable, or else the one inside the package."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return chosen
    inside = pathlib.Path(__file__).resolve().parent / file_name()
    if not inside.exists():
        raise LibraryError(
            f"agent_surface was installed without its shared library ({inside.name}). Install a wheel, or build it with "
            f"`cargo rustc --release --lib --crate-type cdylib` and set {ENVIRONMENT} to the file."
        )
    return str(inside)


def load() -> ctypes.CDLL:
    where = path()
    try:
        # CDLL lets go of the GIL while the library runs; the variant that holds it would deadlock with callbacks.
        library = ctypes.CDLL(where)
    except OSError as why:
        raise LibraryError(f"{where} cannot be loaded: {why}") from why
    try:
        version = library.as_abi_version
    except AttributeError:
        raise LibraryError(f"{where} is no Agent Surface library: it has no as_abi_version") from None
    version.restype = ctypes.c_uint32
    version.argtypes = []
    seen = version()
    if seen != codes.ABI_VERSION:
        raise LibraryError(
            f"{where} has ABI version {seen}, and this package was written for {codes.ABI_VERSION}. "
            f"Install the package and the library of one release, or unset {ENVIRONMENT}."
        )
    return library
