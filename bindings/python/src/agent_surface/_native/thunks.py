"""The C side of every callback.

One C function a kind of callback lives as long as the process, so no thunk can be collected while the library holds its
address. What a call means to Python stands in `_targets` under the number that the table carries as its `user_data`,
until the library's `destroy` (or, for what is told once, the telling) takes it out.

No exception leaves a thunk. A callback that answers answers that it failed; then the reason goes to the log. A
KeyboardInterrupt is the person's and not the handler's: it is also kept, and comes out of the call that this thread is in.
"""
import itertools
import logging
import threading
from ctypes import string_at
from typing import Any, Callable, Dict, Mapping, Optional

from .symbols import FN_DESTROY, FN_HANDLER, FN_HOOK, FN_NOTIFY, FN_TEXT, lib

log = logging.getLogger("agent_surface")

Target = Mapping[str, Callable[..., None]]
# In a target: its handler does not look at the context, which then is not copied.
BLIND = "blind"
# In a target: its functions return at once, so they also run on the thread of an event loop.
INLINE = "inline"
_targets: Dict[int, Target] = {}
_numbers = itertools.count(1)
_thread = threading.local()
_interrupted = False  # whether any thread ever was, so that asking costs next to nothing


def keep(target: Target) -> int:
    number = next(_numbers)
    _targets[number] = target
    return number


def drop(number: int) -> None:
    _targets.pop(number, None)


def kept() -> int:
    """How many tables wait for their `destroy`."""
    return len(_targets)


def raise_interrupt() -> None:
    """Raises the Ctrl-C that struck while this thread ran a callback, once."""
    if not _interrupted:
        return
    interrupt: Optional[KeyboardInterrupt] = getattr(_thread, "interrupt", None)
    if interrupt is not None:
        _thread.interrupt = None
        raise interrupt


def failed(what: str, why: BaseException, reply: int = 0) -> None:
    """Answers that the callback failed and tells the log, in that order: telling may fail itself."""
    try:
        if reply:
            lib.as_reply_error(reply, None, 0)
        if isinstance(why, KeyboardInterrupt):
            global _interrupted
            _thread.interrupt, _interrupted = why, True
        log.error("%s failed", what, exc_info=why)
    except BaseException:  # out of memory, or a log handler that raises: there is nobody left to tell
        pass


def _hook(slot: str) -> Any:
    def thunk(user_data: int, reply: int, context: Optional[int], length: int) -> None:
        try:
            _targets[user_data][slot](reply, string_at(context, length) if context else b"")
        except BaseException as why:
            failed(slot, why, reply)

    return FN_HOOK(thunk)


def _handler(slot: str) -> Any:
    def thunk(
        user_data: int, reply: int, context: Optional[int], length: int, other: Optional[int], other_length: int
    ) -> None:
        try:
            target = _targets[user_data]
            target[slot](
                reply,
                string_at(context, length) if context and BLIND not in target else b"",
                string_at(other, other_length) if other else b"",
            )
        except BaseException as why:
            failed(slot, why, reply)

    return FN_HANDLER(thunk)


def _text(slot: str) -> Any:
    def thunk(user_data: int, text: Optional[int], length: int) -> None:
        try:
            _targets[user_data][slot](string_at(text, length) if text else b"")
        except BaseException as why:
            failed(slot, why)

    return FN_TEXT(thunk)


def _told_once() -> Any:
    def thunk(user_data: int, text: Optional[int], length: int) -> None:
        try:
            _targets.pop(user_data)["on_result"](string_at(text, length) if text else b"")
        except BaseException as why:
            failed("on_result", why)

    return FN_TEXT(thunk)


def _notify() -> Any:
    def thunk(user_data: int) -> None:
        try:
            target = _targets.get(user_data)  # gone where the handler has ended by itself
            if target is not None:
                target["notify"]()
        except BaseException as why:
            failed("on_abort", why)

    return FN_NOTIFY(thunk)


def _destroy() -> Any:
    def thunk(user_data: int) -> None:
        try:
            _targets.pop(user_data, None)
        except BaseException as why:  # a finalizer of what it held
            failed("destroy", why)

    return FN_DESTROY(thunk)


HOOKS = {
    slot: _hook(slot)
    for slot in (
        "context", "route", "on_register", "redact",
        "on_discovery", "on_authorize", "on_invoke",
        "when", "precondition", "bind", "describe",
    )
}  # fmt: skip
HANDLERS = {slot: _handler(slot) for slot in ("handler", "on_result")}
TEXTS = {slot: _text(slot) for slot in ("audit", "log", "on_event")}
RESULT = _told_once()
NOTIFY = _notify()
DESTROY = _destroy()
THUNKS = {**HOOKS, **HANDLERS, **TEXTS, "notify": NOTIFY, "destroy": DESTROY}
