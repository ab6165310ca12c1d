"""The functions of the library. Each raises the exception of the code it gets; documents come back as text."""
from ctypes import Array, byref, c_int32, c_uint64
from typing import Any, List, Mapping, Optional, Type, TypeVar

from . import codes, thunks
from .codes import AgentSurfaceError
from .symbols import Binding, Blob, HooksEvent, HooksHandler, HooksHost, HooksNotify, HooksPolicy, HooksResult, lib, sizeof
from .thunks import Target



def take(blob: Blob) -> str:
    """The text of a blob, which is given back."""
    document: Optional[bytes] = blob.ptr
    if document is None:  # never filled
        return ""
    lib.as_blob_free(byref(blob))
    return document.decode("utf-8")


def error(code: int, blob: Optional[Blob] = None) -> AgentSurfaceError:
    """The exception of a code, with what the error blob says."""
    import json

    text = take(blob) if blob is not None else ""
    said: Mapping[str, Any] = json.loads(text) if text else {}
    kind = codes.BY_NUMBER.get(code, AgentSurfaceError)
    return kind(said.get("message", ""), said.get("reason"), said.get("path"))


def _done(function: Any, *arguments: Any) -> None:
    err = Blob()
    code = function(*arguments, byref(err))
    if code:
        raise error(code, err)


def _document(function: Any, *arguments: Any) -> str:
    """Of a function that may run callbacks on this thread, or wait for them."""
    out, err = Blob(), Blob()
    code = function(*arguments, byref(out), byref(err))
    text = take(out)
    thunks.raise_interrupt()
    if code:
        raise error(code, err)
    return text


def _handle(function: Any, *arguments: Any) -> int:
    out, err = c_uint64(), Blob()
    code = function(*arguments, byref(out), byref(err))
    if code:
        raise error(code, err)
    return out.value


def _plain(function: Any, *arguments: Any) -> None:
    code = function(*arguments)
    if code:
        raise error(code)


_S = TypeVar("_S", HooksHost, HooksPolicy, HooksHandler, HooksEvent)


def _table(kind: Type[_S], target: Target) -> _S:
    """A table with the functions that the target has. Passing it is one ownership: `destroy` ends it, on failure too."""
    present = {field[0]: thunks.THUNKS[field[0]] for field in kind._fields_ if field[0] in target}
    flags = codes.INLINE if thunks.INLINE in target else 0
    return kind(struct_size=sizeof(kind), flags=flags, user_data=thunks.keep(target), destroy=thunks.DESTROY, **present)


def bindings(targets: Mapping[str, Target], serial: bool = False) -> "Array[Binding]":
    tables: List[Binding] = []
    for name, target in targets.items():
        encoded = name.encode("utf-8")
        present = {field[0]: thunks.THUNKS[field[0]] for field in Binding._fields_ if field[0] in target}
        flags = codes.SERIAL if serial else 0
        if thunks.INLINE in target and not target.keys() & thunks.HOOKS.keys():  # its hooks may take their time
            flags |= codes.INLINE
        tables.append(
            Binding(
                struct_size=sizeof(Binding), flags=flags, name=encoded, name_len=len(encoded),
                user_data=thunks.keep(target), destroy=thunks.DESTROY, **present,
            )
        )  # fmt: skip
    return (Binding * len(tables))(*tables)


# ---- constants


def version() -> str:
    text: bytes = lib.as_version()
    return text.decode()


def code_name(code: int) -> str:
    text: bytes = lib.as_code_name(code)
    return text.decode()


# ---- life of a registry


def registry_new(config: bytes, host: Optional[Target] = None) -> int:
    hooks = byref(_table(HooksHost, host)) if host is not None else None
    return _handle(lib.as_registry_new, config, len(config), hooks)


def registry_close(registry: int, timeout_ms: int) -> None:
    _done(lib.as_registry_close, registry, timeout_ms)


def registry_free(registry: int) -> None:
    _plain(lib.as_registry_free, registry)


def registry_info(registry: int) -> str:
    return _document(lib.as_registry_info, registry)


# ---- what the host offers


def policy_define(registry: int, name: str, target: Target) -> None:
    encoded = name.encode("utf-8")
    _done(lib.as_policy_define, registry, encoded, len(encoded), byref(_table(HooksPolicy, target)))


def executor_set(registry: int, paths: bytes, target: Target) -> None:
    _done(lib.as_executor_set, registry, paths, len(paths), byref(_table(HooksHandler, target)))


def register(registry: int, definition: bytes, targets: Mapping[str, Target]) -> int:
    tables = bindings(targets)
    return _handle(lib.as_register, registry, definition, len(definition), tables, len(tables))


def registration_info(registration: int) -> str:
    return _document(lib.as_registration_info, registration)


def registration_update(registration: int, patch: bytes) -> None:
    _done(lib.as_registration_update, registration, patch, len(patch))


def registration_rebind(registration: int, targets: Mapping[str, Target]) -> None:
    tables = bindings(targets)
    _done(lib.as_registration_rebind, registration, tables, len(tables))


def registration_invalidate(registration: int) -> None:
    _plain(lib.as_registration_invalidate, registration)


def unregister(registration: int) -> None:
    _plain(lib.as_unregister, registration)


# ---- answering: the code is the answer, since most callers only want to know whether it came late


def reply_json(reply: int, document: bytes) -> int:
    code: int = lib.as_reply_json(reply, document, len(document))
    return code


def reply_error(reply: int, payload: bytes = b"") -> int:
    code: int = lib.as_reply_error(reply, payload, len(payload))
    return code


def reply_allow(reply: int) -> int:
    code: int = lib.as_reply_allow(reply)
    return code


def reply_deny(reply: int, payload: bytes = b"") -> int:
    code: int = lib.as_reply_deny(reply, payload, len(payload))
    return code


def reply_confirm(reply: int, summary: bytes = b"") -> int:
    code: int = lib.as_reply_confirm(reply, summary, len(summary))
    return code


def reply_defer(reply: int) -> int:
    code: int = lib.as_reply_defer(reply)
    return code


def reply_aborted(reply: int) -> bool:
    out = c_int32()
    _plain(lib.as_reply_aborted, reply, byref(out))
    return bool(out.value)


def reply_on_abort(reply: int, number: int) -> None:
    """Has the target of `number` notified. The caller drops it: there is no `destroy`, which would be one callback more a call."""
    _plain(lib.as_reply_on_abort, reply, byref(HooksNotify(sizeof(HooksNotify), codes.INLINE, number, thunks.NOTIFY)))


def next_request(registry: int, timeout_ms: int) -> str:
    return _document(lib.as_next, registry, timeout_ms)


# ---- calls


def invoke(registry: int, request: bytes, options: bytes, target: Target, pull: bool = False) -> int:
    """Starts a call; the target's `on_result` is told the result, once (by `next_request` instead in a pull registry)."""
    return _started(lib.as_invoke, target, pull, registry, request, len(request), options, len(options))


def _started(function: Any, target: Target, pull: bool, *arguments: Any) -> int:
    """Telling the result drops the target, which saves one callback a call; where nothing is told, `destroy` does."""
    number = thunks.keep(target)
    hooks = HooksResult(sizeof(HooksResult), codes.INLINE, number, thunks.RESULT)
    if pull:
        hooks.destroy = thunks.DESTROY
    try:
        return _handle(function, *arguments, byref(hooks))
    except BaseException:
        thunks.drop(number)  # a call that was not started tells no result
        raise


def invoke_wait(registry: int, request: bytes, options: bytes) -> str:
    return _document(lib.as_invoke_wait, registry, request, len(request), options, len(options))


def invocation_wait(invocation: int, timeout_ms: int) -> str:
    return _document(lib.as_invocation_wait, invocation, timeout_ms)


def invocation_cancel(invocation: int) -> None:
    _plain(lib.as_invocation_cancel, invocation)


def invocation_free(invocation: int) -> None:
    _plain(lib.as_invocation_free, invocation)


def consumer_close(registry: int, consumer: bytes) -> None:
    _done(lib.as_consumer_close, registry, consumer, len(consumer))


def outcome(registry: int, query: bytes) -> str:
    return _document(lib.as_outcome, registry, query, len(query))


# ---- confirmation


def confirm(registry: int, decision: bytes) -> None:
    _done(lib.as_confirm, registry, decision, len(decision))


def confirmations(registry: int) -> str:
    return _document(lib.as_confirmations, registry)


def confirmation_subscribe(registry: int, target: Target) -> int:
    return _handle(lib.as_confirmation_subscribe, registry, byref(_table(HooksEvent, target)))


def confirmation_wait(registry: int, confirmation: str, timeout_ms: int) -> str:
    encoded = confirmation.encode("utf-8")
    return _document(lib.as_confirmation_wait, registry, encoded, len(encoded), timeout_ms)


# ---- looking


def snapshot(registry: int, context: bytes) -> str:
    return _document(lib.as_snapshot, registry, context, len(context))


def subscribe(registry: int, target: Target) -> int:
    return _handle(lib.as_subscribe, registry, byref(_table(HooksEvent, target)))


def unsubscribe(subscription: int) -> None:
    _plain(lib.as_unsubscribe, subscription)


def audit_read(registry: int, after: int) -> str:
    return _document(lib.as_audit_read, registry, after)


# ---- toolset


def toolset_new(registry: int, options: bytes) -> int:
    return _handle(lib.as_toolset_new, registry, options, len(options))


def toolset_free(toolset: int) -> None:
    _plain(lib.as_toolset_free, toolset)


def toolset_tools(toolset: int, format: str) -> str:
    encoded = format.encode("utf-8")
    return _document(lib.as_toolset_tools, toolset, encoded, len(encoded))


def toolset_info(toolset: int) -> str:
    return _document(lib.as_toolset_info, toolset)


def toolset_render(toolset: int, format: str, result: bytes) -> str:
    encoded = format.encode("utf-8")
    return _document(lib.as_toolset_render, toolset, encoded, len(encoded), result, len(result))


def toolset_call(toolset: int, call: bytes, target: Target, pull: bool = False) -> int:
    return _started(lib.as_toolset_call, target, pull, toolset, call, len(call))


def toolset_call_wait(toolset: int, call: bytes) -> str:
    return _document(lib.as_toolset_call_wait, toolset, call, len(call))


# ---- binding a result to its request


def canonical_json(document: bytes) -> str:
    return _document(lib.as_canonical_json, document, len(document))


def request_digest(capability_id: str, document: bytes) -> str:
    encoded = capability_id.encode("utf-8")
    return _document(lib.as_request_digest, encoded, len(encoded), document, len(document))


def verify_result(result: bytes, request: bytes) -> str:
    return _document(lib.as_verify_result, result, len(result), request, len(request))


# ---- development


def explain(registry: int, context: bytes) -> str:
    return _document(lib.as_dev_explain, registry, context, len(context))


def advance(registry: int, ms: int, timeout_ms: int) -> None:
    _done(lib.as_dev_advance, registry, ms, timeout_ms)


def quiesce(registry: int, timeout_ms: int) -> None:
    _done(lib.as_dev_quiesce, registry, timeout_ms)


def live() -> str:
    out = Blob()
    _plain(lib.as_dev_live, byref(out))
    return take(out)


