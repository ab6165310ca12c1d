"""The components of one surface: those that wait to go live, those that live, and the executor behind their procedures."""
from __future__ import annotations

import logging
import weakref
from typing import Any, Callable, Dict, List, Mapping

from . import _json
from ._engine import Engine
from ._native import abi, thunks
from .handler import Handler
from .policies import Policies

log = logging.getLogger("agent_surface")


class Declared:
    """A component as it was put together, and its registration while it lives."""

    def __init__(self, definition: Dict[str, Any]) -> None:
        self.definition = definition
        self.targets: Dict[str, Dict[str, Callable[..., None]]] = {}
        self.procedures: Dict[str, Handler] = {}
        self.handle = 0

    @property
    def offers(self) -> bool:
        return bool(self.targets or self.procedures)


class Mounts:
    """Held by the surface and by whatever it has made; collected with the last of them. The handle goes then, and nothing
    waits; at exit the engine is closed in earnest."""

    def __init__(self, engine: Engine, policies: Policies) -> None:
        self.engine, self.policies = engine, policies
        self._waiting: List[Declared] = []
        self._mounted: List[Declared] = []
        self._procedures: Dict[str, Dict[str, Handler]] = {}
        finalizer: Any = weakref.finalize(self, engine.free)
        finalizer.atexit = False
        policies.define(engine)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._mounted)

    def add(self, declared: Declared) -> None:
        self._waiting.append(declared)

    def registry(self) -> int:
        """The registry, with everything on it that was defined so far."""
        if self._waiting:
            for declared in list(self._waiting):
                if declared.offers:  # one that is still empty waits until it is worth showing
                    self.mount(declared)
        return self.engine.registry

    def mount(self, declared: Declared) -> None:
        with self.engine.mounting:
            if declared.handle:
                return
            self.policies.define(self.engine)
            if declared.procedures:
                self._serve(declared.procedures)
            declared.handle = abi.register(self.engine.registry, _json.dumps(declared.definition), declared.targets)
            if declared in self._waiting:
                self._waiting.remove(declared)
            self._mounted.append(declared)
            info = _json.loads(abi.registration_info(declared.handle))
            if info["status"] == "rejected":
                log.warning("%s was not taken: see on_duplicate and on_register", declared.definition["type"])
            for path, handler in declared.procedures.items():
                self._procedures[path][info["registrationId"]] = handler
        thunks.raise_interrupt()

    def _serve(self, procedures: Mapping[str, Handler]) -> None:
        """Makes the executor serve these paths as well."""
        for path in procedures:
            self._procedures.setdefault(path, {})
        engine, by_path = self.engine, self._procedures

        def execute(reply: int, context: bytes, input: bytes) -> None:
            told = _json.loads(context)
            with engine.mounting:  # a call may come before the registration that it is for has been written down
                handler = by_path[told["path"]][told["registrationId"]]
            handler.run(engine, reply, context, input)

        target: thunks.Target = {"handler": execute}
        if all(handler.is_async for handlers in (procedures, *by_path.values()) for handler in handlers.values()):
            target = {"handler": execute, thunks.INLINE: execute}
        abi.executor_set(engine.registry, _json.dumps(list(by_path)), target)

    def take_down(self, declared: Declared) -> None:
        """Ends this life of the component: its calls are aborted."""
        if declared.handle:
            handle, declared.handle = declared.handle, 0
            abi.unregister(handle)
        for some in (self._mounted, self._waiting):
            if declared in some:
                some.remove(declared)

    def take_all_down(self) -> None:
        for declared in [*self._mounted, *self._waiting]:
            self.take_down(declared)
