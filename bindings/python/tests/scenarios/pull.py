"""Pull dispatch: one thread takes requests with `as_next` and has the same scripts answer them."""
from __future__ import annotations

import threading

from agent_surface._native import abi
from agent_surface._native.codes import AgentSurfaceError, WaitTimeoutError

from . import play
from .host import Host
from .text import Json, Object, as_text, data, get, parse


class Pump:
    def __init__(self, host: Host) -> None:
        self._host = host
        self.served = 0
        self._stop = False
        self._rounds = 0
        self._ended = False
        self._emptied = threading.Condition()
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def drain(self) -> None:
        """Waits until the pump has asked, got nothing, and begun to ask after this call did: two empty rounds."""
        with self._emptied:
            until = self._rounds + 2
            self._emptied.wait_for(lambda: self._ended or self._rounds >= until)

    def stop(self) -> None:
        self._stop = True
        self._thread.join()

    def _pump(self) -> None:
        while not self._stop:
            try:
                request = abi.next_request(self._host.registry, 1)
            except WaitTimeoutError:
                with self._emptied:
                    self._rounds += 1
                    self._emptied.notify_all()
                continue
            except AgentSurfaceError:
                break
            serve(self._host, parse(request))
            self.served += 1
        with self._emptied:
            self._ended = True
            self._emptied.notify_all()


def serve(host: Host, request: Json) -> None:
    def word(field: str) -> str:
        return as_text(get(request, field)) or ""

    context, reply = get(request, "context"), int(word("reply") or 0)
    what = word("do")
    if what == "call":
        _call(host, request, reply, context)
    elif what == "policy":
        phase = "onInvoke" if word("phase") in ("onInvoke", "invoke") else "onAuthorize"
        play.decide(host, word("name"), phase, reply, context)
    elif what == "event":
        host.events.append(context)
    elif what == "audit":
        host.audit.append(context)


def _call(host: Host, request: Json, reply: int, context: Json) -> None:
    input = data(get(request, "input")) if isinstance(request, Object) and request.has("input") else b""
    if get(context, "path") is not None:
        play.execute(host, reply, context, input)
        return
    name = (as_text(get(context, "capabilityId")) or "").replace(":", ".").rsplit(".", 1)[-1]
    component = host.registered.get(as_text(get(context, "registrationId")) or "")
    site = component.sites.get(name) if component is not None else None
    if site is None:
        play.fail_hook(host, reply, "a handler was asked for that was never given")
    else:
        play.handle(host, site, reply, context, input)
