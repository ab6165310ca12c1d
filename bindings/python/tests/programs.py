"""Whole programs, each run in a process of its own by `test_process.py`: `python programs.py NAME`.

What they show is how a process ends, forks, runs out of luck and is collected, which no test inside one process can.
"""
from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import tracemalloc
from typing import Any, Callable, Dict, List, Optional

import agent_surface as a
from agent_surface import Context, Policy, Replace, Surface, parallel
from agent_surface._native import thunks
from agent_surface.testing import TestSurface

logging.getLogger("agent_surface").addHandler(logging.NullHandler())
PROGRAMS: Dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def simple(**options: Any) -> Surface:
    surface = Surface(**options)
    component = surface.component("c", description="C")
    component.action("echo", concurrency=parallel(64, queue_depth=100_000))(_echo)
    component.action("later", concurrency=parallel(64, queue_depth=100_000))(_later)
    return surface


def _echo(n: int) -> int:
    return n


async def _later(n: int) -> int:
    await asyncio.sleep(0)
    return n


def code(result: a.Result) -> Optional[str]:
    return result.error.code if result.error else None


# ---- the end of the interpreter


@program
def exit_at_once() -> None:
    simple().snapshot()


@program
def exit_under_load() -> None:
    """Daemon threads call and call while the interpreter ends."""
    surface = simple()
    began = threading.Barrier(9)

    def work() -> None:
        surface.invoke_sync("view:c.echo", {"n": 1})
        began.wait()
        while True:
            surface.invoke_sync("view:c.echo", {"n": 1})

    for _ in range(8):
        threading.Thread(target=work, daemon=True).start()
    began.wait()


@program
def exit_with_async_calls_pending() -> None:
    surface = Surface()
    component = surface.component("c", description="C")
    began = threading.Event()

    @component.action(concurrency=parallel(10))
    async def forever() -> None:
        began.set()
        await asyncio.Event().wait()

    for _ in range(4):
        threading.Thread(target=lambda: surface.invoke_sync("view:c.forever"), daemon=True).start()
    began.wait()


@program
def exit_with_a_handler_running() -> None:
    """A sync handler that ends once it sees that its call was aborted: the end waits for it."""
    surface = Surface()
    component = surface.component("c", description="C")
    began = threading.Event()

    @component.action()
    def busy(context: Context) -> None:
        began.set()
        while not context.aborted:
            pass

    threading.Thread(target=lambda: surface.invoke_sync("view:c.busy"), daemon=True).start()
    began.wait()


@program
def exit_inside_a_loop() -> None:
    """sys.exit() in the middle of an event loop with calls pending."""

    async def main() -> None:
        surface = simple()
        component = surface.component("d", description="D")

        @component.action(confirmation="required")
        async def forever() -> None:
            await asyncio.Event().wait()

        waiting = asyncio.ensure_future(surface.invoke("view:d.forever", wait_for_confirmation=True))
        asyncio.ensure_future(surface.invoke("view:c.later", {"n": 1}))
        async for confirmation in surface.confirmations:
            confirmation.approve()
            break
        del waiting
        sys.exit(0)

    asyncio.run(main())


@program
def exit_without_closing_a_subscription() -> None:
    surface = simple()
    surface.listen(lambda event: None)
    surface.confirmations.listen(lambda confirmation: None)
    surface.invoke_sync("view:c.echo", {"n": 1})


@program
def exit_in_a_thread_that_outlives_main() -> None:
    surface = simple()
    main = threading.main_thread()

    def work() -> None:
        main.join()
        assert surface.invoke_sync("view:c.echo", {"n": 2}).output == 2
        assert surface.invoke_sync("view:c.later", {"n": 2}).output == 2

    surface.invoke_sync("view:c.later", {"n": 1})  # the loop's thread is there before the interpreter begins to end
    threading.Thread(target=work).start()


# ---- fork


def in_child(work: Callable[[], None]) -> None:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status


@program
def fork_and_use_the_parents() -> None:
    surface = simple()
    surface.invoke_sync("view:c.later", {"n": 1})
    subscription = surface.listen(lambda event: None)

    def child() -> None:
        for call in (surface.snapshot, lambda: surface.invoke_sync("view:c.echo", {"n": 1}), surface.close):
            try:
                call()
            except a.ForkedError:
                continue
            raise AssertionError("a parent's handle worked")
        subscription.close()
        own = simple()
        assert own.invoke_sync("view:c.echo", {"n": 1}).output == 1
        assert own.invoke_sync("view:c.later", {"n": 1}).output == 1, "with a loop of its own"
        assert asyncio.run(own.invoke("view:c.later", {"n": 3})).output == 3
        own.close()
        gc.collect()

    in_child(child)
    assert surface.invoke_sync("view:c.echo", {"n": 2}).output == 2, "the parent goes on"


@program
def fork_while_calls_run() -> None:
    surface = simple()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            surface.invoke_sync("view:c.echo", {"n": 1})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()

    def child() -> None:
        own = simple()
        assert own.invoke_sync("view:c.later", {"n": 5}).output == 5
        own.close()

    for _ in range(5):
        in_child(child)
    stop.set()
    for thread in threads:
        thread.join()


def _pool_worker(n: int) -> int:
    surface = simple()  # made after the fork
    try:
        return int(surface.invoke_sync("view:c.later", {"n": n}).output)
    finally:
        surface.close()


@program
def multiprocessing_children() -> None:
    import multiprocessing

    simple().invoke_sync("view:c.echo", {"n": 1})
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(_pool_worker, range(4)) == [0, 1, 2, 3]


@program
def prefork_server() -> None:
    """As gunicorn does it: the application is imported, workers are forked, each makes its surface and serves."""
    pids = []
    for n in range(4):
        pid = os.fork()
        if pid == 0:
            surface = simple()
            assert asyncio.run(surface.invoke("view:c.later", {"n": n})).output == n
            sys.exit(0)  # the ordinary end, atexit included
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4


# ---- exceptions of every kind in every callback

KINDS = (SystemExit, KeyboardInterrupt, MemoryError, ZeroDivisionError, GeneratorExit)


@program
def exceptions_in_every_callback() -> None:
    for kind in KINDS:
        _exceptions(kind)
    assert thunks.kept() == 0, thunks._targets


def _exceptions(kind: "type[BaseException]") -> None:
    failing: List[Optional[str]] = [None]

    def fails(slot: str, otherwise: Any = None) -> Any:
        if failing[0] == slot:
            raise kind(slot)
        return otherwise

    class Everything(Policy):
        def on_discovery(self, context: a.PolicyContext) -> a.Expose:
            return fails("on_discovery", a.Expose())  # type: ignore[no-any-return]

        def on_authorize(self, context: a.PolicyContext) -> bool:
            return bool(fails("on_authorize", True))

        async def on_invoke(self, context: a.PolicyContext) -> bool:
            return bool(fails("on_invoke", True))

        def on_result(self, context: a.PolicyContext, result: a.Result) -> Optional[Replace]:
            fails("on_result")
            return None

    surface = Surface(
        context=lambda: fails("context", {}), route=lambda: fails("route", {"path": "/"}), redact=lambda told: fails("redact", {}),
        on_register=lambda told: fails("on_register", True), audit=lambda entry: fails("audit"), policies=[Everything()],
    )  # fmt: skip
    component = surface.component("c", description="C")
    component.action(
        "sync", audit="full", when=lambda: fails("when", True), precondition=lambda given: fails("precondition")
    )(lambda: fails("sync"))

    @component.action("async")
    async def later() -> None:
        fails("async")

    component.procedure(
        "p", effect="server-query", bound_fields=["n"], bind=lambda: fails("bind", {"n": 1}), describe=lambda: fails("describe", "note")
    )(lambda n: fails("procedure"))
    surface.listen(lambda event: fails("event"))

    def interrupted(call: Callable[[], Any]) -> Any:
        """A KeyboardInterrupt of a callback on this thread comes out of the call; nothing else ever does."""
        try:
            return call()
        except KeyboardInterrupt:
            assert kind is KeyboardInterrupt
            return None

    slots = {
        "on_discovery": "CAPABILITY_NOT_FOUND", "on_authorize": "NOT_AUTHORIZED", "on_invoke": "NOT_AUTHORIZED",
        "on_result": "EXECUTION_FAILED", "context": None, "redact": None, "audit": None, "event": None,
        "when": "CAPABILITY_NOT_AVAILABLE", "precondition": "PRECONDITION_FAILED", "sync": "EXECUTION_FAILED",
    }  # fmt: skip
    surface.snapshot()
    for slot, expected in slots.items():
        failing[0] = slot
        result = interrupted(lambda: surface.invoke_sync("view:c.sync"))
        assert result is None or code(result) == expected, (kind, slot, result)
    for slot, capability, expected in (
        ("async", "view:c.async", "EXECUTION_FAILED"), ("bind", "domain:p", "PRECONDITION_FAILED"),
        ("procedure", "domain:p", "EXECUTION_FAILED"),
    ):  # fmt: skip
        failing[0] = slot
        result = interrupted(lambda: surface.invoke_sync(capability))
        assert result is None or code(result) == expected, (kind, slot, result)
        assert code(asyncio.run(surface.invoke(capability))) == expected, (kind, slot)
    for slot in ("route", "describe"):
        failing[0] = slot
        interrupted(surface.snapshot)
    failing[0] = "on_register"
    rejected = surface.component("d", description="D")
    rejected.action("x")(lambda: None)
    interrupted(rejected.register)
    assert rejected.status == "rejected"
    failing[0] = None
    assert surface.invoke_sync("view:c.sync").ok, "and after all that it works"
    surface.close()


@program
def control_c_comes_out_of_the_call() -> None:
    surface = Surface()
    component = surface.component("c", description="C")

    @component.action()
    def long() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass

    try:
        surface.invoke_sync("view:c.long")
    except KeyboardInterrupt:
        surface.close()
        print("interrupted")
        return
    raise AssertionError("Ctrl-C was swallowed")


# ---- garbage collection, load, leaks


@program
def collected_in_the_middle() -> None:
    """Everything that can be forgotten is, while calls run."""
    began = threading.Event()
    release = threading.Event()

    def make() -> "threading.Thread":
        surface = simple()
        component = surface.component("d", description="D")
        surface.listen(lambda event: None)

        @component.action()
        def slow() -> int:
            began.set()
            release.wait()
            gc.collect()
            return 1

        surface.toolset(topology="embedded")

        thread = threading.Thread(target=surface.invoke_sync, args=("view:d.slow",))
        thread.start()
        return thread

    thread = make()
    began.wait()
    for _ in range(5):
        gc.collect()
        simple().snapshot()
    release.set()
    thread.join()

    async def cancelled() -> None:
        surface = simple()
        calls = [asyncio.ensure_future(surface.invoke("view:c.later", {"n": n})) for n in range(50)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        del surface
        gc.collect()
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(cancelled())
    gc.collect()


@program
def fifty_threads_and_a_loop() -> None:
    surface = simple()
    wrong: List[Any] = []

    def work(n: int) -> None:
        for i in range(100):
            result = surface.invoke_sync("view:c.later" if i % 10 == 0 else "view:c.echo", {"n": n}, consumer=a.Consumer(f"t{n}"))
            if result.output != n:
                wrong.append(result)

    async def loop() -> None:
        for i in range(20):
            results = await asyncio.gather(*(surface.invoke("view:c.later", {"n": n}) for n in range(50)))
            wrong.extend(result for n, result in enumerate(results) if result.output != n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    asyncio.run(loop())
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
    surface.close()
    assert thunks.kept() == 0


@program
def no_leak() -> None:
    """100,000 calls, sync and async, good and bad: what Python and the library hold at the end is what they held before."""
    surface = simple(limits={"auditCapacity": 100, "dedupeCacheSize": 100})

    async def later(count: int) -> None:
        for n in range(count):
            await surface.invoke("view:c.later", {"n": n})

    def calls(count: int) -> None:
        for n in range(count):
            surface.invoke_sync("view:c.echo", {"n": n})
            if n % 20 == 0:
                surface.invoke_sync("view:c.echo", {"n": "wrong"})
                surface.invoke_sync("view:c.nothing")

    calls(2_000)
    asyncio.run(later(500))
    gc.collect()
    live = _counts()
    tracemalloc.start()
    calls(500)
    asyncio.run(later(100))
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    surface_quiet(surface)  # stopping while another thread allocates crashes CPython
    tracemalloc.stop()
    calls(86_000)
    asyncio.run(later(4_000))
    tracemalloc.start()
    calls(500)
    asyncio.run(later(100))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    surface_quiet(surface)
    tracemalloc.stop()
    assert _counts() == live, (live, _counts())
    assert after < before + 50_000, (before, after)
    surface.close()
    assert thunks.kept() == 0


def surface_quiet(surface: Surface) -> None:
    from agent_surface._native import abi

    abi.quiesce(surface._engine.registry, 20_000)


def _counts() -> Dict[str, Any]:
    live = TestSurface.live()
    return {**live, "kept": thunks.kept()}


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
