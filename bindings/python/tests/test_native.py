"""The low layer against the headers and the lists it was written from."""
from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import re
import subprocess
import sys

import pytest
from agent_surface import errors
from agent_surface._native import abi, codes, library, symbols, thunks
from conftest import PROJECT

HEADERS = ("include/agent_surface.h", "include/agent_surface_dev.h")


def header() -> str:
    text = "".join((PROJECT / name).read_text(encoding="utf-8") for name in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def test_every_function_of_the_headers_has_its_arguments() -> None:
    """Requirement: every symbol with argtypes."""
    declared = {}
    for name, parameters in re.findall(r"\b(as_\w+)\(([^()]*)\);", header()):
        listed = [] if parameters.strip() == "void" else [p.strip() for p in parameters.split(",")]
        declared[name] = listed
    assert set(declared) == set(symbols.SIGNATURES)
    for name, parameters in declared.items():
        _, arguments = symbols.SIGNATURES[name]
        assert len(arguments) == len(parameters), name
        for argument, parameter in zip(arguments, parameters):
            assert _fits(argument, parameter), (name, parameter, argument)


def _fits(argument: object, parameter: str) -> bool:
    if "uint8_t *" in parameter:
        return argument is ctypes.c_char_p
    if "*" in parameter:
        return issubclass(argument, ctypes._Pointer)  # type: ignore[arg-type]
    kinds = {"size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "as_code": ctypes.c_int32}
    return argument is kinds.get(parameter.split()[0], ctypes.c_uint64)


@pytest.mark.parametrize(
    ("struct", "name"),
    [(symbols.HooksHost, "as_hooks_host"), (symbols.HooksPolicy, "as_hooks_policy"), (symbols.HooksHandler, "as_hooks_handler"),
     (symbols.Binding, "as_binding"), (symbols.HooksNotify, "as_hooks_notify"), (symbols.HooksResult, "as_hooks_result"),
     (symbols.HooksEvent, "as_hooks_event"), (symbols.Blob, "as_blob")],
)  # fmt: skip
def test_structs_have_the_members_of_the_headers(struct: type, name: str) -> None:
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header(), re.S)
    assert body is not None
    members = re.findall(r"(\w+);", body.group(1))
    assert [field[0] for field in struct._fields_] == members  # type: ignore[attr-defined]


def test_codes_are_those_of_the_list() -> None:
    listed = json.loads((PROJECT / "spec/codes.json").read_text(encoding="utf-8"))["codes"]
    for code in listed:
        assert abi.code_name(code["number"]) == code["name"]
        assert getattr(codes, code["name"]) == code["number"]
        if code["number"]:
            assert codes.BY_NUMBER[code["number"]].name == code["name"]


def test_the_generated_module_has_not_drifted() -> None:
    generate = PROJECT / "bindings/python/tools/generate.py"
    assert subprocess.run([sys.executable, str(generate), "--check"]).returncode == 0


def test_a_wait_that_ends_too_early_is_pythons_timeout_error() -> None:
    assert issubclass(errors.WaitTimeoutError, TimeoutError)


def test_the_library_is_loaded_by_the_variant_that_lets_go_of_the_gil() -> None:
    assert type(symbols.lib) is ctypes.CDLL
    assert not isinstance(symbols.lib, ctypes.PyDLL)


def test_errors_carry_what_the_blob_says() -> None:
    with pytest.raises(errors.ArgumentError) as caught:
        abi.registry_new(b'{"nonsense": 1}')
    assert caught.value.path == "/nonsense"
    assert "/nonsense" in str(caught.value)
    with pytest.raises(errors.JsonError):
        abi.registry_new(b"{")
    with pytest.raises(errors.NullHandleError):
        abi.registry_info(0)


def test_a_table_is_destroyed_when_the_function_that_took_it_fails() -> None:
    before = thunks.kept()
    with pytest.raises(errors.ArgumentError):
        abi.registry_new(b'{"nonsense": 1}', {"log": lambda text: None})
    with pytest.raises(errors.NullHandleError):
        abi.policy_define(0, "p", {"on_invoke": lambda reply, context: None})
    with pytest.raises(errors.NullHandleError):
        abi.register(0, b"{}", {"a": {"handler": lambda *_: None}})
    with pytest.raises(errors.NullHandleError):
        abi.invoke(0, b"{}", b"", {"on_result": lambda text: None})
    assert thunks.kept() == before


def load(path: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, library.ENVIRONMENT: path}
    return subprocess.run([sys.executable, "-c", "import agent_surface"], env=environment, capture_output=True, text=True, timeout=60)


def test_a_missing_library_says_so() -> None:
    said = load("/nowhere/libagent_surface.so").stderr
    assert "LibraryError" in said and "/nowhere/libagent_surface.so cannot be loaded" in said


def test_another_library_says_so() -> None:
    said = load(ctypes.util.find_library("m") or "libm.so.6").stderr
    assert "is no Agent Surface library" in said


def test_another_abi_version_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "ABI_VERSION", 99)
    with pytest.raises(errors.LibraryError, match="has ABI version 1, and this package was written for 99"):
        library.load()


