"""Every exported function with its types, and the structs that cross. The tests hold both against the C headers."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Tuple

from . import library

lib = library.load()

# Callbacks. A view comes as an address, which is None where it is empty.
FN_HOOK = CFUNCTYPE(None, c_void_p, c_uint64, c_void_p, c_size_t)
FN_HANDLER = CFUNCTYPE(None, c_void_p, c_uint64, c_void_p, c_size_t, c_void_p, c_size_t)
FN_TEXT = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
FN_NOTIFY = CFUNCTYPE(None, c_void_p)
FN_DESTROY = CFUNCTYPE(None, c_void_p)


class Blob(Structure):
    """`ptr` comes as bytes, or None: a blob has a NUL behind its last byte, and JSON has none inside."""

    _fields_ = [("ptr", c_char_p), ("len", c_size_t), ("opaque", c_void_p)]


class HooksHost(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("context", FN_HOOK),
        ("route", FN_HOOK),
        ("on_register", FN_HOOK),
        ("redact", FN_HOOK),
        ("audit", FN_TEXT),
        ("log", FN_TEXT),
        ("destroy", FN_DESTROY),
    ]


class HooksPolicy(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("on_discovery", FN_HOOK),
        ("on_authorize", FN_HOOK),
        ("on_invoke", FN_HOOK),
        ("on_result", FN_HANDLER),
        ("destroy", FN_DESTROY),
    ]


class HooksHandler(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("handler", FN_HANDLER),
        ("destroy", FN_DESTROY),
    ]


class Binding(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", c_char_p),
        ("name_len", c_size_t),
        ("user_data", c_void_p),
        ("handler", FN_HANDLER),
        ("when", FN_HOOK),
        ("precondition", FN_HOOK),
        ("bind", FN_HOOK),
        ("describe", FN_HOOK),
        ("destroy", FN_DESTROY),
    ]


class HooksNotify(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("notify", FN_NOTIFY),
        ("destroy", FN_DESTROY),
    ]


class HooksResult(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("on_result", FN_TEXT),
        ("destroy", FN_DESTROY),
    ]


class HooksEvent(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("user_data", c_void_p),
        ("on_event", FN_TEXT),
        ("destroy", FN_DESTROY),
    ]


_TEXT = (c_char_p, c_size_t)
_HANDLE = c_uint64
_OUT = POINTER(Blob)
_ERR = POINTER(Blob)

SIGNATURES: Dict[str, Tuple[Any, List[Any]]] = {
    "as_abi_version": (c_uint32, []),
    "as_version": (c_char_p, []),
    "as_code_name": (c_char_p, [c_int32]),
    "as_blob_free": (c_int32, [_OUT]),
    "as_registry_new": (c_int32, [*_TEXT, POINTER(HooksHost), POINTER(_HANDLE), _ERR]),
    "as_registry_close": (c_int32, [_HANDLE, c_int64, _ERR]),
    "as_registry_free": (c_int32, [_HANDLE]),
    "as_registry_info": (c_int32, [_HANDLE, _OUT, _ERR]),
    "as_policy_define": (c_int32, [_HANDLE, *_TEXT, POINTER(HooksPolicy), _ERR]),
    "as_executor_set": (c_int32, [_HANDLE, *_TEXT, POINTER(HooksHandler), _ERR]),
    "as_next": (c_int32, [_HANDLE, c_int64, _OUT, _ERR]),
    "as_register": (c_int32, [_HANDLE, *_TEXT, POINTER(Binding), c_size_t, POINTER(_HANDLE), _ERR]),
    "as_registration_info": (c_int32, [_HANDLE, _OUT, _ERR]),
    "as_registration_update": (c_int32, [_HANDLE, *_TEXT, _ERR]),
    "as_registration_rebind": (c_int32, [_HANDLE, POINTER(Binding), c_size_t, _ERR]),
    "as_registration_invalidate": (c_int32, [_HANDLE]),
    "as_unregister": (c_int32, [_HANDLE]),
    "as_reply_json": (c_int32, [_HANDLE, *_TEXT]),
    "as_reply_error": (c_int32, [_HANDLE, *_TEXT]),
    "as_reply_allow": (c_int32, [_HANDLE]),
    "as_reply_deny": (c_int32, [_HANDLE, *_TEXT]),
    "as_reply_confirm": (c_int32, [_HANDLE, *_TEXT]),
    "as_reply_defer": (c_int32, [_HANDLE]),
    "as_reply_aborted": (c_int32, [_HANDLE, POINTER(c_int32)]),
    "as_reply_on_abort": (c_int32, [_HANDLE, POINTER(HooksNotify)]),
    "as_invoke": (c_int32, [_HANDLE, *_TEXT, *_TEXT, POINTER(HooksResult), POINTER(_HANDLE), _ERR]),
    "as_invoke_wait": (c_int32, [_HANDLE, *_TEXT, *_TEXT, _OUT, _ERR]),
    "as_invocation_wait": (c_int32, [_HANDLE, c_int64, _OUT, _ERR]),
    "as_invocation_cancel": (c_int32, [_HANDLE]),
    "as_invocation_free": (c_int32, [_HANDLE]),
    "as_consumer_close": (c_int32, [_HANDLE, *_TEXT, _ERR]),
    "as_outcome": (c_int32, [_HANDLE, *_TEXT, _OUT, _ERR]),
    "as_confirm": (c_int32, [_HANDLE, *_TEXT, _ERR]),
    "as_confirmations": (c_int32, [_HANDLE, _OUT, _ERR]),
    "as_confirmation_subscribe": (c_int32, [_HANDLE, POINTER(HooksEvent), POINTER(_HANDLE), _ERR]),
    "as_confirmation_wait": (c_int32, [_HANDLE, *_TEXT, c_int64, _OUT, _ERR]),
    "as_snapshot": (c_int32, [_HANDLE, *_TEXT, _OUT, _ERR]),
    "as_subscribe": (c_int32, [_HANDLE, POINTER(HooksEvent), POINTER(_HANDLE), _ERR]),
    "as_unsubscribe": (c_int32, [_HANDLE]),
    "as_audit_read": (c_int32, [_HANDLE, c_uint64, _OUT, _ERR]),
    "as_toolset_new": (c_int32, [_HANDLE, *_TEXT, POINTER(_HANDLE), _ERR]),
    "as_toolset_free": (c_int32, [_HANDLE]),
    "as_toolset_tools": (c_int32, [_HANDLE, *_TEXT, _OUT, _ERR]),
    "as_toolset_info": (c_int32, [_HANDLE, _OUT, _ERR]),
    "as_toolset_render": (c_int32, [_HANDLE, *_TEXT, *_TEXT, _OUT, _ERR]),
    "as_toolset_call": (c_int32, [_HANDLE, *_TEXT, POINTER(HooksResult), POINTER(_HANDLE), _ERR]),
    "as_toolset_call_wait": (c_int32, [_HANDLE, *_TEXT, _OUT, _ERR]),
    "as_canonical_json": (c_int32, [*_TEXT, _OUT, _ERR]),
    "as_request_digest": (c_int32, [*_TEXT, *_TEXT, _OUT, _ERR]),
    "as_verify_result": (c_int32, [*_TEXT, *_TEXT, _OUT, _ERR]),
    "as_dev_explain": (c_int32, [_HANDLE, *_TEXT, _OUT, _ERR]),
    "as_dev_advance": (c_int32, [_HANDLE, c_int64, c_int64, _ERR]),
    "as_dev_quiesce": (c_int32, [_HANDLE, c_int64, _ERR]),
    "as_dev_live": (c_int32, [_OUT]),
}

for _name, (_answer, _arguments) in SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype = _answer
    _function.argtypes = _arguments

sizeof = ctypes.sizeof
