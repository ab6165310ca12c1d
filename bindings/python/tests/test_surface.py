"""The API people use: components, calls, policies, confirmation, events, time. Names of requirements as in spec/conformance.json."""
from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import gc
import json
import logging
import pathlib
import threading
import weakref
from typing import Any, Awaitable, Callable, Dict, List, Literal, Optional

import pytest
from agent_surface import (
    Allow,
    ClosedError,
    CallError,
    Condition,
    Confirm,
    Consumer,
    Context,
    DefinitionError,
    Deny,
    Disable,
    Failure,
    Hide,
    NotFoundError,
    Policy,
    PolicyContext,
    Replace,
    Result,
    SettledError,
    Surface,
    TestSurface,
    authenticated,
    canonical_json,
    exclusive,
    has_permission,
    parallel,
    rate_limit,
    request_digest,
    require_confirmation,
    verify,
)

ADA = Consumer("ada")


def code(result: Result) -> str:
    assert result.error is not None, result
    return result.error.code


@dataclasses.dataclass
class Selected:
    count: int


def table(surface: Surface, **options: Any) -> List[str]:
    """A component with one of each; answers what ran."""
    ran: List[str] = []
    devices = surface.component("devices.table", description="Devices", **options)

    @devices.observation()
    def row_names() -> List[str]:
        """The rows."""
        ran.append("rows")
        return ["d1", "d2"]

    @devices.action()
    def select_rows(ids: List[str], mode: Literal["replace", "add"] = "replace") -> Selected:
        """Select rows of the table.

        Args:
            ids: which rows
        """
        ran.append(f"select {mode}")
        return Selected(len(ids))

    @devices.action(confirmation="required")
    async def wipe(ctx: Context) -> Optional[str]:
        """Wipe them."""
        ran.append("wipe")
        assert ctx.confirmation is not None
        return ctx.confirmation.id

    @devices.procedure("devices.disable", effect="server-mutation", bind=lambda: {"ids": ["d1"]}, bound_fields=["ids"])
    def disable(ids: List[str], reason: str) -> str:
        """Disable what is selected."""
        ran.append(f"disable {ids} {reason}")
        return reason

    return ran


# ---- components and calls


def test_names_descriptions_and_schemas_come_from_the_function() -> None:
    with Surface.testing() as surface:
        table(surface)
        component = surface.snapshot()["components"][0]
        action = next(a for a in component["actions"] if a["name"] == "selectRows")
        assert action["capabilityId"] == "view:devices.table.selectRows"
        assert action["description"] == "Select rows of the table."
        assert action["inputSchema"]["required"] == ["ids"]
        assert action["inputSchema"]["properties"]["ids"]["description"] == "which rows"
        assert action["inputSchema"]["properties"]["mode"]["default"] == "replace"
        assert component["observations"][0]["name"] == "rowNames"


def test_sync_and_async_calls_of_sync_and_async_handlers() -> None:
    with Surface.testing() as surface:
        ran = table(surface)
        assert surface.invoke_sync("view:devices.table.selectRows", {"ids": ["a"]}).output_as(Selected) == Selected(1)
        assert asyncio.run(surface.invoke("view:devices.table.rowNames")).output == ["d1", "d2"]
        first = surface.invoke_sync("view:devices.table.wipe")
        surface.approve_all()
        done = surface.invoke_sync("view:devices.table.wipe", invocation_id=first.invocation_id, confirmation_id=first.confirmation_id)
        assert done.output == first.confirmation_id
        assert ran == ["select replace", "rows", "wipe"]


def test_a_decorated_function_stays_a_function() -> None:
    surface = Surface.testing()
    component = surface.component("c", description="C")

    @component.action()
    def double(n: int) -> int:
        return 2 * n

    assert double(4) == 8


def test_methods_lambdas_and_partials_can_be_handlers() -> None:
    import functools

    class Table:
        def pick(self, n: int) -> int:
            return n + 1

    def add(a: int, b: int) -> int:
        return a + b

    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("pick")(Table().pick)
        component.action("add")(functools.partial(add, b=5))
        component.observation("now")(lambda: 7)
        assert surface.invoke_sync("view:c.pick", {"n": 1}).output == 2
        assert surface.invoke_sync("view:c.add", {"a": 1}).output == 6
        assert surface.invoke_sync("view:c.now").output == 7


def test_explicit_schemas_give_the_whole_input() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action("go", input={"type": "object", "properties": {"in": {"type": "integer"}}}, output={"type": "integer"})
        def go(given: Dict[str, Any]) -> Any:
            return given["in"]

        assert surface.invoke_sync("view:c.go", {"in": 3}).output == 3


def test_bound_fields_are_the_applications() -> None:
    """AS-BIND-001."""
    with Surface.testing() as surface:
        ran = table(surface)
        assert surface.invoke_sync("domain:devices.disable", {"reason": "lost"}).ok
        assert code(surface.invoke_sync("domain:devices.disable", {"reason": "x", "ids": ["d9"]})) == "INVALID_INPUT"
        assert ran == ["disable ['d1'] lost"]


def test_two_instances_of_a_procedure_run_their_own_function() -> None:
    with Surface.testing() as surface:
        for name in ("a", "b"):
            component = surface.component("c", description="C", instance=name)
            component.procedure("p.go", effect="server-query")(lambda name=name: name)  # type: ignore[misc]
        for name in ("a", "b"):
            assert surface.invoke_sync("domain:p.go", instance_id=name).output == name


def test_a_live_component_is_frozen_until_it_is_taken_down() -> None:
    """AS-LIFE-002."""
    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("one")(lambda: None)
        surface.snapshot()
        with pytest.raises(RuntimeError, match="frozen"):
            component.action("two")(lambda: None)
        first = component.registration_id
        component.unregister()
        component.action("two")(lambda: None)
        assert code(surface.invoke_sync("view:c.one")) == "COMPONENT_UNMOUNTED"
        with pytest.raises(RuntimeError, match="register"):
            component.update(enabled=True)
        component.register()
        assert surface.invoke_sync("view:c.two").ok
        assert component.registration_id != first


def test_a_bad_definition_says_where() -> None:
    surface = Surface.testing()
    component = surface.component("Not a type", description="C")
    with pytest.raises(DefinitionError) as caught:
        component.register()
    assert (caught.value.reason, caught.value.path) == ("INVALID_ID", "/type")


def test_a_second_of_the_same_is_rejected_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """AS-LIFE-003."""
    with Surface.testing() as surface:
        surface.component("c", description="C").action("a")(lambda: None)
        second = surface.component("c", description="C")
        second.action("a")(lambda: None)
        assert second.status == "rejected"
        assert "was not taken" in caplog.text


def test_availability_and_rebinding() -> None:
    """AS-AVAIL-002."""
    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("go")(lambda: 1)
        component.update(availability={"go": "Not before noon."})
        refused = surface.invoke_sync("view:c.go")
        assert code(refused) == "CAPABILITY_NOT_AVAILABLE"
        assert refused.error is not None and refused.error.details["reason"] == "Not before noon."
        component.update(availability={"go": True})
        version = surface.version
        component.rebind("go", lambda: 2)
        assert surface.invoke_sync("view:c.go").output == 2
        assert surface.version == version
        component.update(enabled=False)
        assert code(surface.invoke_sync("view:c.go")) == "CAPABILITY_NOT_AVAILABLE"


def test_hooks_may_take_the_context_or_not() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("a", when=lambda: True)(lambda: 1)
        component.action("b", when=lambda context: context.capability_id != "view:c.b")(lambda: 1)
        component.action("d", precondition=lambda input: None if input["n"] > 0 else "Give more.")(_number)
        assert surface.invoke_sync("view:c.a").ok
        assert code(surface.invoke_sync("view:c.b")) == "CAPABILITY_NOT_AVAILABLE"
        assert surface.invoke_sync("view:c.d", {"n": 1}).ok
        assert code(surface.invoke_sync("view:c.d", {"n": 0})) == "PRECONDITION_FAILED"


def _number(n: int) -> int:
    return n


def test_the_context_tells_of_the_call() -> None:
    seen: List[Any] = []
    with Surface.testing(context={"tenant": "t1"}) as surface:
        component = surface.component("c", description="C", instance="main")

        @component.action(timeout=3)
        def go(context: Context) -> None:
            seen.extend([context.capability_id, context.invocation_id, context.consumer, context.host, context.instance_id,
                         context.aborted, context.confirmation, context.path, context.deadline is not None, context.request_digest])

        result = surface.invoke_sync("view:c.go", {}, consumer=ADA, invocation_id="i-1")
        assert seen == ["view:c.go", "i-1", ADA, {"tenant": "t1"}, "main", False, None, None, True, result.request_digest]


# ---- results


def test_results_as_objects_and_exceptions() -> None:
    with Surface.testing() as surface:
        table(surface)
        good = surface.invoke_sync("view:devices.table.rowNames")
        assert good.raise_for_error() is good and good.error is None
        assert good.output_digest is not None and not good.surface_changed
        bad = surface.invoke_sync("view:devices.table.nothing")
        with pytest.raises(CallError) as caught:
            bad.raise_for_error()
        assert caught.value.code == "CAPABILITY_NOT_FOUND" and caught.value.retry == "after-refresh"
        assert "CAPABILITY_NOT_FOUND" in repr(bad)


def test_failures_typed_and_untyped(caplog: pytest.LogCaptureFixture) -> None:
    """AS-ERR: nothing of a host's exception passes through."""
    with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action()
        def typed() -> None:
            raise Failure("PRECONDITION_FAILED", "Connect first.", retry="with-changes", details={"port": 7})

        @component.action()
        def untyped() -> None:
            raise ValueError("password is hunter2")

        @component.action()
        def no_json() -> Any:
            return object()

        @component.action()
        async def later() -> None:
            raise Failure("NOT_AUTHORIZED", "Not you.")

        refused = surface.invoke_sync("view:c.typed")
        assert refused.error is not None
        assert (refused.error.code, refused.error.message, refused.error.details) == ("PRECONDITION_FAILED", "Connect first.", {"port": 7})
        secret = surface.invoke_sync("view:c.untyped")
        assert code(secret) == "EXECUTION_FAILED" and "hunter2" not in secret.text
        assert "hunter2" in caplog.text, "the program's own log has it"
        assert code(surface.invoke_sync("view:c.noJson")) == "EXECUTION_FAILED"
        assert code(surface.invoke_sync("view:c.later")) == "NOT_AUTHORIZED"


def test_no_output_is_not_null() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action()
        def nothing() -> None: ...

        @component.action()
        def maybe() -> Optional[int]:
            return None

        assert "output" not in surface.invoke_sync("view:c.nothing").envelope
        assert surface.invoke_sync("view:c.maybe").envelope["output"] is None


def test_verification_binds_a_result_to_its_request() -> None:
    """AS-BINDING-004."""
    with Surface.testing() as surface:
        table(surface)
        result = surface.invoke_sync("view:devices.table.selectRows", {"ids": ["a"]}, invocation_id="v")
        assert verify(result, "view:devices.table.selectRows", {"ids": ["a"]}, invocation_id="v")
        report = verify(result.text, "view:devices.table.selectRows", {"ids": ["b"]})
        assert not report and not report.checks["issuedDigest"]
        forged = {**result.envelope, "output": {"count": 2}}
        assert not verify(forged, "view:devices.table.selectRows", {"ids": ["a"]}).checks["outputDigest"]
        assert result.issued_digest == request_digest("view:devices.table.selectRows", {"ids": ["a"]})
        assert canonical_json({"b": 1, "a": [1.0, "é"]}) == '{"a":[1,"é"],"b":1}'


# ---- identity


def test_the_same_id_runs_once() -> None:
    """AS-IDENT-001."""
    with Surface.testing() as surface:
        ran = table(surface)
        call: Callable[..., Result] = lambda ids: surface.invoke_sync("view:devices.table.selectRows", {"ids": ids}, invocation_id="x")  # noqa: E731
        assert call(["a"]).text == call(["a"]).text
        assert code(call(["b"])) == "INVOCATION_CONFLICT"
        assert len(ran) == 1
        assert surface.outcome("x")["result"]["status"] == "ok"
        with pytest.raises(NotFoundError):
            surface.outcome("y")


# ---- async


def asynchronous(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), 60))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@asynchronous
async def test_async_handlers_run_on_the_callers_loop_with_its_context_variables() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who")
    async with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action()
        async def where() -> str:
            await asyncio.sleep(0)
            assert asyncio.get_running_loop() is loop
            return who.get()

        loop = asyncio.get_running_loop()
        who.set("ada")
        assert (await surface.invoke("view:c.where")).output == "ada"


@asynchronous
async def test_an_async_call_needs_no_worker() -> None:
    """Its handler is begun inside the call and its result told there, also while every worker is taken."""
    async with Surface.testing() as surface:
        component = surface.component("c", description="C")
        gate = threading.Event()

        @component.action(concurrency=parallel(64))
        def wait() -> bool:
            return gate.wait(60)

        @component.action()
        async def go() -> str:
            await asyncio.sleep(0)
            return "done"

        waiting = [asyncio.ensure_future(surface.invoke("view:c.wait")) for _ in range(surface.info["workers"] + 2)]
        await asyncio.sleep(0)
        try:
            odd = 'an "id" with \\ and \u00e9'
            result = await asyncio.wait_for(surface.invoke("view:c.go", invocation_id=odd), 30)
            assert (result.output, result.invocation_id) == ("done", odd)
        finally:
            gate.set()
        assert all(result.output for result in await asyncio.gather(*waiting))


@asynchronous
async def test_sync_code_stays_off_the_loops_thread() -> None:
    ran: Dict[str, bool] = {}

    def note(what: str, answer: Any) -> Any:
        ran[what] = threading.current_thread() is threading.main_thread()
        return answer

    async with Surface.testing(policies=[lambda context: note("policy", True)]) as surface:
        component = surface.component("c", description="C")

        @component.action(when=lambda: note("when", True), precondition=lambda input: note("precondition", None))
        async def go() -> None:
            note("async handler", None)

        @component.action()
        def stay() -> None:
            note("sync handler", None)

        for name in ("go", "stay"):
            (await surface.invoke(f"view:c.{name}")).raise_for_error()
    assert ran == {"policy": False, "when": False, "precondition": False, "sync handler": False, "async handler": True}


def test_two_loops_each_run_their_own_calls() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action(concurrency=parallel(8))
        async def where() -> int:
            await asyncio.sleep(0)
            return threading.get_ident()

        async def many() -> List[int]:
            results = await asyncio.gather(*(surface.invoke("view:c.where") for _ in range(5)))
            return [result.output for result in results]

        seen: Dict[int, List[int]] = {}
        both = threading.Barrier(2)  # an ident may be used again once its thread has ended

        def work() -> None:
            seen[threading.get_ident()] = asyncio.run(many())
            both.wait()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(seen) == 2
        for thread_id, where_it_ran in seen.items():
            assert where_it_ran == [thread_id] * 5


def test_async_handlers_without_a_loop_run_on_one_of_our_own() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")

        @component.action()
        async def go() -> str:
            await asyncio.sleep(0)
            return threading.current_thread().name

        assert surface.invoke_sync("view:c.go").output == "agent-surface-loop"


@asynchronous
async def test_a_blocking_call_on_a_loops_thread_is_refused() -> None:
    async with Surface.testing() as surface:
        table(surface)
        with pytest.raises(RuntimeError, match="await"):
            surface.invoke_sync("view:devices.table.rowNames")


def pending(surface: Surface, **options: Any) -> Dict[str, Any]:
    """An action that waits for ever; tells when it began and how it ended."""
    told: Dict[str, Any] = {"began": asyncio.Event(), "ended": asyncio.Event(), "how": None}
    component = surface.component("c", description="C")

    @component.action(**options)
    async def forever() -> None:
        told["began"].set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told["how"] = "cancelled"
            raise
        finally:
            told["ended"].set()

    return told


@asynchronous
async def test_an_aborted_call_cancels_its_handler() -> None:
    """AS-CONC-011: the time is the manual clock's."""
    async with Surface.testing() as surface:
        told = pending(surface, timeout=10)
        call = asyncio.ensure_future(surface.invoke("view:c.forever"))
        await told["began"].wait()
        surface.advance(9.9)
        await surface.settle()
        assert not call.done()
        surface.advance(0.2)
        assert code(await call) == "TIMEOUT"
        await told["ended"].wait()
        assert told["how"] == "cancelled"


@asynchronous
async def test_cancelling_the_await_cancels_the_call() -> None:
    """AS-CONC-012."""
    async with Surface.testing() as surface:
        told = pending(surface)
        call = asyncio.ensure_future(surface.invoke("view:c.forever", invocation_id="i"))
        await told["began"].wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await told["ended"].wait()
        assert surface.outcome("i")["result"]["error"]["code"] == "CANCELLED"


@asynchronous
async def test_closing_settles_what_is_pending() -> None:
    surface = Surface.testing()
    told = pending(surface)
    call = asyncio.ensure_future(surface.invoke("view:c.forever"))
    await told["began"].wait()
    await surface.aclose()
    assert code(await call) == "CANCELLED"
    await told["ended"].wait()
    assert surface.closed
    with pytest.raises(ClosedError):
        await surface.invoke("view:c.forever")


@asynchronous
async def test_actions_of_an_instance_queue_and_parallel_ones_do_not() -> None:
    """AS-CONC-001."""
    async with Surface.testing() as surface:
        component = surface.component("c", description="C")
        running: List[int] = [0, 0]
        gate = asyncio.Event()

        async def work() -> None:
            running[0] += 1
            running[1] = max(running)
            await gate.wait()
            running[0] -= 1

        component.action("one", concurrency=exclusive())(work)
        component.action("many", concurrency=parallel(3))(work)
        calls = [asyncio.ensure_future(surface.invoke("view:c.many")) for _ in range(3)]
        await surface.settle()
        assert running[0] == 3
        gate.set()
        await asyncio.gather(*calls)
        gate.clear()
        running[:] = [0, 0]
        calls = [asyncio.ensure_future(surface.invoke("view:c.one")) for _ in range(4)]
        await surface.settle()
        assert running[0] == 1
        gate.set()
        results = await asyncio.gather(*calls)
        assert running[1] == 1
        assert sorted(r.ok or code(r) for r in results if not r.ok) == ["RATE_LIMITED"], "the queue holds two"


# ---- policies


def test_built_in_policies() -> None:
    """AS-POLICY-004."""
    user: Dict[str, Any] = {}
    policies = [authenticated(), rate_limit(2, per=60)]
    with Surface.testing(policies=policies, context=lambda: dict(user)) as surface:
        table(surface, policies=[has_permission("devices")])
        assert surface.snapshot()["components"] == []
        assert code(surface.invoke_sync("view:devices.table.rowNames")) == "NOT_AUTHENTICATED"
        user["user"] = "ada"
        assert code(surface.invoke_sync("view:devices.table.rowNames")) == "NOT_AUTHORIZED"
        user["permissions"] = ["devices"]
        seen = [surface.invoke_sync("view:devices.table.rowNames", consumer=ADA) for _ in range(3)]
        assert [result.ok for result in seen] == [True, True, False] and code(seen[2]) == "RATE_LIMITED"
        surface.advance(60)
        assert surface.invoke_sync("view:devices.table.rowNames", consumer=ADA).ok


def test_a_function_is_asked_over_the_effective_input() -> None:
    """AS-INVOKE-002."""
    asked: List[Any] = []

    def judge(context: PolicyContext) -> Any:
        asked.append(context.effective_input)
        return {"yes": True, "no": False, "ask": Confirm("Really?"), "deny": Deny("Not today."), "allow": Allow(), "none": None}[
            context.effective_input["n"]
        ]

    with Surface.testing() as surface:
        component = surface.component("c", description="C", policies=[judge])
        component.action("go")(_text)
        answers = {n: surface.invoke_sync("view:c.go", {"n": n}) for n in ("yes", "no", "ask", "deny", "allow", "none")}
        assert answers["yes"].ok and answers["allow"].ok
        assert code(answers["no"]) == code(answers["none"]) == "NOT_AUTHORIZED", "whatever is no clear answer is a refusal"
        assert answers["ask"].error is not None and answers["ask"].error.details["summary"] == "Really?"
        assert answers["deny"].error is not None and answers["deny"].error.message == "Not today."
        assert asked[0] == {"n": "yes"}


def _text(n: str) -> str:
    return n


class Watch(Policy):
    def __init__(self) -> None:
        self.phases: List[str] = []

    def on_discovery(self, context: PolicyContext) -> Any:
        self.phases.append("discovery")
        return {"hidden": Hide(), "off": Disable("Later.")}.get(context.capability_id.rsplit(".", 1)[1], super().on_discovery(context))

    async def on_authorize(self, context: PolicyContext) -> bool:
        self.phases.append("authorize")
        assert "effectiveInput" not in context.document, "AS-INVOKE-001"
        await asyncio.sleep(0)
        return True

    def on_result(self, context: PolicyContext, result: Result) -> Optional[Replace]:
        self.phases.append("result")
        return Replace("redacted") if result.output == "secret" else None


def test_a_policy_class_has_its_phases() -> None:
    watch = Watch()
    with Surface.testing(policies=[watch]) as surface:
        component = surface.component("c", description="C")
        for name in ("open", "hidden", "off"):
            component.action(name)(lambda: "secret")
        names = {a["name"]: a for a in surface.snapshot()["components"][0]["actions"]}
        assert set(names) == {"open", "off"} and names["off"]["unavailableReason"] == "Later."
        watch.phases.clear()
        assert surface.invoke_sync("view:c.open").output == "redacted"
        assert watch.phases == ["discovery", "authorize", "result"]
        assert code(surface.invoke_sync("view:c.hidden")) == "CAPABILITY_NOT_FOUND"
        assert asyncio.run(surface.invoke("view:c.open")).output == "redacted"


def test_a_failing_policy_refuses() -> None:
    """AS-POLICY-002."""

    def broken(context: PolicyContext) -> bool:
        raise KeyError("broken")

    async def broken_later(context: PolicyContext) -> bool:
        raise Failure("RATE_LIMITED", "Later.", details={"reason": "mood"})

    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("a", policies=[broken])(lambda: 1)
        component.action("b", policies=[broken_later])(lambda: 1)
        assert code(surface.invoke_sync("view:c.a")) == "NOT_AUTHORIZED"
        assert code(surface.invoke_sync("view:c.b")) == "RATE_LIMITED"


def test_what_is_no_policy_is_refused_at_once() -> None:
    for wrong in (7, "authenticated", Watch):
        with pytest.raises(TypeError, match="no policy"):
            Surface.testing(policies=[wrong])


def test_explain_says_why() -> None:
    with Surface.testing(policies=[authenticated()]) as surface:
        table(surface)
        assert {c["outcome"] for c in surface.explain()["capabilities"]} == {"hide"}


def test_a_guard_takes_only_a_clear_yes() -> None:
    answers: List[Any] = [True, "accept", None]
    with Surface.testing(on_register=lambda told: answers.pop(0)) as surface:
        for i, status in enumerate(["active", "rejected", "rejected"]):
            component = surface.component(f"c{i}", description="C")
            component.action("a")(lambda: 1)
            assert component.status == status


# ---- confirmation


@asynchronous
async def test_a_person_approves() -> None:
    async with Surface.testing() as surface:
        ran = table(surface)

        async def person() -> None:
            async for confirmation in surface.confirmations:
                assert confirmation.capability_id == "view:devices.table.wipe" and confirmation.consumer_key == "embedded:ada"
                confirmation.approve(approver="mara")
                return

        watching = asyncio.ensure_future(person())
        await asyncio.sleep(0)
        result = await surface.invoke("view:devices.table.wipe", consumer=ADA, wait_for_confirmation=True)
        assert result.ok and ran == ["wipe"]
        await watching
        approved = [e for e in surface.audit_entries() if e["type"] == "confirmation-approved"]
        assert approved[0]["approver"] == "mara"


@asynchronous
async def test_a_person_denies_or_never_comes() -> None:
    """AS-CONFIRM: denied, expired."""
    async with Surface.testing() as surface:
        ran = table(surface)
        first = await surface.invoke("view:devices.table.wipe")
        assert first.confirmation_id is not None
        surface.confirmations.pending()[0].deny(reason="No.")
        assert code(await surface.retry(first)) == "CONFIRMATION_INVALID"
        with pytest.raises(SettledError):
            surface.confirmations.approve(first.confirmation_id)
        with pytest.raises(NotFoundError):
            surface.confirmations.approve("cnf_nothing")
        second = asyncio.ensure_future(surface.invoke("view:devices.table.wipe", wait_for_confirmation=True))
        await surface.settle()
        surface.advance(121)
        assert code(await second) == "CONFIRMATION_INVALID"
        assert ran == []


def test_conditions_over_the_input() -> None:
    with Surface.testing() as surface:
        component = surface.component("c", description="C")
        component.action("pay", policies=[require_confirmation(Condition("/n", "greater", 10), summary="Pay {/n}?")])(_number)
        assert surface.invoke_sync("view:c.pay", {"n": 10}).ok
        asked = surface.invoke_sync("view:c.pay", {"n": 11})
        assert asked.error is not None and asked.error.details["summary"] == "Pay 11?"


# ---- events and audit


@asynchronous
async def test_events_and_audit_as_they_come() -> None:
    """AS-EVT-001: started before settled."""
    async with Surface.testing() as surface:
        table(surface)
        events, audit = surface.events("invocation-started", "invocation-settled"), surface.audit()
        result = await surface.invoke("view:devices.table.selectRows", {"ids": []})
        started, settled = await events.__anext__(), await events.__anext__()
        assert (started["type"], settled["type"]) == ("invocation-started", "invocation-settled")
        assert settled["invocationId"] == result.invocation_id
        kinds = [(await audit.__anext__())["type"] for _ in range(3)]
        assert kinds == ["registration", "invocation-started", "invocation-settled"]
        await events.aclose()
        await audit.aclose()
        assert [event async for event in events] == []


@asynchronous
async def test_a_late_answer_reaches_the_audit() -> None:
    """AS-CONC-011."""
    async with Surface.testing() as surface:
        component = surface.component("c", description="C")
        began = asyncio.Event()

        @component.action(timeout=1)
        async def stubborn() -> int:
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return 5  # too late
            return 0

        call = asyncio.ensure_future(surface.invoke("view:c.stubborn", invocation_id="late"))
        await began.wait()
        audit = surface.audit()
        surface.advance(1)
        assert code(await call) == "TIMEOUT"
        async for entry in audit:
            if entry["type"] == "late-settlement":
                break
        assert surface.outcome("late")["late"]["output"] == 5
        await audit.aclose()


@asynchronous
async def test_streams_end_with_their_surface() -> None:
    surface = Surface.testing()
    table(surface)
    events = surface.events()
    confirmations = surface.confirmations.stream()
    await surface.aclose()
    assert all(event["type"] != "events-lost" for event in [event async for event in events])
    assert [one async for one in confirmations] == []


def test_audit_to_a_function_and_to_a_file(tmp_path: pathlib.Path) -> None:
    entries: List[Any] = []
    with Surface.testing(audit=entries.append) as surface:
        table(surface)
        surface.invoke_sync("view:devices.table.selectRows", {"ids": []})
        surface.quiesce()
    assert [entry["type"] for entry in entries][:2] == ["registration", "invocation-started"]
    path = tmp_path / "audit.jsonl"
    with Surface.testing(audit=path) as surface:
        table(surface)
        surface.invoke_sync("view:devices.table.selectRows", {"ids": []})
        surface.quiesce()
    assert "invocation-settled" in [json.loads(line)["type"] for line in path.read_text().splitlines()]


def test_listeners_that_fail_hurt_nobody(caplog: pytest.LogCaptureFixture) -> None:
    seen: List[str] = []
    with Surface.testing() as surface:
        table(surface)

        def broken(event: Any) -> None:
            raise OSError("broken")

        with surface.listen(broken), surface.listen(lambda event: seen.append(event["type"])):
            assert surface.invoke_sync("view:devices.table.rowNames").ok
            surface.quiesce()
    assert "invocation-settled" in seen and "broken" in caplog.text


# ---- consumers, ends


def test_a_session_that_is_over() -> None:
    with Surface.testing() as surface:
        table(surface)
        assert surface.invoke_sync("view:devices.table.wipe", consumer=ADA).confirmation_id
        surface.close_consumer(ADA)
        assert surface.confirmations.pending() == []


def test_seeded_ids_are_the_same_in_every_run() -> None:
    def run() -> List[str]:
        with Surface.testing(seed=7) as surface:
            table(surface)
            return [surface.invoke_sync("view:devices.table.rowNames").text, asyncio.run(surface.invoke("view:devices.table.rowNames")).text]

    assert run() == run()


def test_what_is_closed_says_so_and_closing_again_is_fine() -> None:
    surface = Surface.testing()
    table(surface)
    surface.close()
    surface.close()
    with pytest.raises(ClosedError):
        surface.invoke_sync("view:devices.table.rowNames")
    with pytest.raises(ClosedError):
        surface.snapshot()
    assert repr(surface) == "<Surface closed>"


def test_a_forgotten_surface_is_collected() -> None:
    surface = Surface.testing()
    table(surface)
    surface.invoke_sync("view:devices.table.rowNames")
    there = weakref.ref(surface)
    gc.collect()
    before = TestSurface.live()["handles"]["registry"]
    del surface
    gc.collect()
    assert there() is None
    assert TestSurface.live()["handles"]["registry"] == before - 1


def test_the_librarys_log_reaches_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "agent_surface"), Surface.testing() as surface:
        component = surface.component("c", description="C", policies=[lambda context: 3])
        component.action("a")(lambda: 1)
        surface.invoke_sync("view:c.a")
        surface.quiesce()
    told = [record for record in caplog.records if hasattr(record, "agent_surface")]
    assert told and all(record.levelno == logging.WARNING for record in told)
