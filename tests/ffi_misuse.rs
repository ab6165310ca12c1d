//! What a careless host may do to the C functions, and the exact answer: every function with every wrong handle, every
//! text that is none, every output that is missing, every table that is no table. `tests/c` shows the same from C, counts
//! every `destroy`, and does what needs a living call.

use agent_surface::ffi::*;
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::slice;

/// A call whose arguments are all in order but the handle, with `out` and `made` for what it gives.
type OnHandle = fn(u64, *mut as_blob, *mut u64, *mut as_blob) -> as_code;
/// A call whose arguments are all in order but one text.
type OnText = fn(&World, *const u8, usize, *mut as_blob) -> as_code;

/// A closure over one C function, whose pointers are NULL, refused by their length, or good for the whole call.
macro_rules! calls {
    ($($name:literal => |$($parameter:pat_param),*| $call:expr;)*) => {
        // SAFETY: as said above.
        vec![$(($name, |$($parameter),*| unsafe { $call })),*]
    };
}

const DEFINITION: &str = r#"{"type":"t","description":"A thing",
    "actions":{"go":{"description":"Go","effect":"local-state","input":{"type":"object"}}}}"#;
const REQUEST: &str = r#"{"capabilityId":"view:t.go"}"#;
const TOOLSET: &str = r#"{"topology":"remote"}"#;

fn registry_functions() -> Vec<(&'static str, OnHandle)> {
    calls! {
        "as_registry_info" => |h, out, _, err| as_registry_info(h, out, err);
        "as_registry_close" => |h, _, _, err| as_registry_close(h, 0, err);
        "as_policy_define" => |h, _, _, err| as_policy_define(h, b"p".as_ptr(), 1, &policy(), err);
        "as_executor_set" => |h, _, _, err| as_executor_set(h, b"[]".as_ptr(), 2, &executor(), err);
        "as_register" => |h, _, made, err|
            as_register(h, DEFINITION.as_ptr(), DEFINITION.len(), &binding(), 1, made, err);
        "as_next" => |h, out, _, err| as_next(h, 0, out, err);
        "as_invoke" => |h, _, made, err| as_invoke(h, REQUEST.as_ptr(), REQUEST.len(), null(), 0, &result(), made, err);
        "as_invoke_wait" => |h, out, _, err| as_invoke_wait(h, REQUEST.as_ptr(), REQUEST.len(), null(), 0, out, err);
        "as_consumer_close" => |h, _, _, err| as_consumer_close(h, b"{}".as_ptr(), 2, err);
        "as_outcome" => |h, out, _, err| as_outcome(h, b"{}".as_ptr(), 2, out, err);
        "as_confirm" => |h, _, _, err| as_confirm(h, b"{}".as_ptr(), 2, err);
        "as_confirmations" => |h, out, _, err| as_confirmations(h, out, err);
        "as_confirmation_subscribe" => |h, _, made, err| as_confirmation_subscribe(h, &listener(), made, err);
        "as_confirmation_wait" => |h, out, _, err| as_confirmation_wait(h, b"x".as_ptr(), 1, 0, out, err);
        "as_snapshot" => |h, out, _, err| as_snapshot(h, null(), 0, out, err);
        "as_subscribe" => |h, _, made, err| as_subscribe(h, &listener(), made, err);
        "as_audit_read" => |h, out, _, err| as_audit_read(h, 0, out, err);
        "as_toolset_new" => |h, _, made, err| as_toolset_new(h, TOOLSET.as_ptr(), TOOLSET.len(), made, err);
        "as_dev_explain" => |h, out, _, err| as_dev_explain(h, null(), 0, out, err);
        "as_dev_advance" => |h, _, _, err| as_dev_advance(h, 1, 0, err);
        "as_dev_quiesce" => |h, _, _, err| as_dev_quiesce(h, 0, err);
    }
}

fn registration_functions() -> Vec<(&'static str, OnHandle)> {
    calls! {
        "as_registration_info" => |h, out, _, err| as_registration_info(h, out, err);
        "as_registration_update" => |h, _, _, err| as_registration_update(h, b"{}".as_ptr(), 2, err);
        "as_registration_rebind" => |h, _, _, err| as_registration_rebind(h, &binding(), 1, err);
    }
}

fn invocation_functions() -> Vec<(&'static str, OnHandle)> {
    calls! { "as_invocation_wait" => |h, out, _, err| as_invocation_wait(h, 0, out, err); }
}

fn toolset_functions() -> Vec<(&'static str, OnHandle)> {
    calls! {
        "as_toolset_tools" => |h, out, _, err| as_toolset_tools(h, null(), 0, out, err);
        "as_toolset_info" => |h, out, _, err| as_toolset_info(h, out, err);
        "as_toolset_render" => |h, out, _, err| as_toolset_render(h, null(), 0, b"{}".as_ptr(), 2, out, err);
        "as_toolset_call" => |h, _, made, err| as_toolset_call(h, b"{}".as_ptr(), 2, &result(), made, err);
        "as_toolset_call_wait" => |h, out, _, err| as_toolset_call_wait(h, b"{}".as_ptr(), 2, out, err);
    }
}

/// Functions without an error blob: the code is all they say.
fn silent_functions(noun: &str) -> Vec<(&'static str, OnHandle)> {
    match noun {
        "registry" => calls! { "as_registry_free" => |h, _, _, _| as_registry_free(h); },
        "registration" => calls! {
            "as_registration_invalidate" => |h, _, _, _| as_registration_invalidate(h);
            "as_unregister" => |h, _, _, _| as_unregister(h);
        },
        "invocation" => calls! {
            "as_invocation_cancel" => |h, _, _, _| as_invocation_cancel(h);
            "as_invocation_free" => |h, _, _, _| as_invocation_free(h);
        },
        "toolset" => calls! { "as_toolset_free" => |h, _, _, _| as_toolset_free(h); },
        "subscription" => calls! { "as_unsubscribe" => |h, _, _, _| as_unsubscribe(h); },
        _ => calls! {
            "as_reply_json" => |h, _, _, _| as_reply_json(h, b"1".as_ptr(), 1);
            "as_reply_error" => |h, _, _, _| as_reply_error(h, null(), 0);
            "as_reply_allow" => |h, _, _, _| as_reply_allow(h);
            "as_reply_deny" => |h, _, _, _| as_reply_deny(h, null(), 0);
            "as_reply_confirm" => |h, _, _, _| as_reply_confirm(h, null(), 0);
            "as_reply_defer" => |h, _, _, _| as_reply_defer(h);
            "as_reply_aborted" => |h, _, _, _| as_reply_aborted(h, &mut 0);
            "as_reply_on_abort" => |h, _, _, _| as_reply_on_abort(h, &notice());
        },
    }
}

/// Every text of every function, by its parameter's name.
fn texts() -> Vec<(&'static str, OnText)> {
    calls! {
        "config" => |_, p, n, err| as_registry_new(p, n, null(), &mut 0, err);
        "name" => |w, p, n, err| as_policy_define(w.registry, p, n, &policy(), err);
        "paths" => |w, p, n, err| as_executor_set(w.registry, p, n, &executor(), err);
        "definition" => |w, p, n, err| as_register(w.registry, p, n, &binding(), 1, &mut 0, err);
        "name" => |w, p, n, err| {
            let named = as_binding { name: p, name_len: n, ..binding() };
            as_register(w.registry, DEFINITION.as_ptr(), DEFINITION.len(), &named, 1, &mut 0, err)
        };
        "name" => |w, p, n, err| {
            let named = as_binding { name: p, name_len: n, ..binding() };
            as_registration_rebind(w.registration, &named, 1, err)
        };
        "patch" => |w, p, n, err| as_registration_update(w.registration, p, n, err);
        "request" => |w, p, n, err| as_invoke(w.registry, p, n, null(), 0, null(), null_mut(), err);
        "options" => |w, p, n, err|
            as_invoke(w.registry, REQUEST.as_ptr(), REQUEST.len(), p, n, null(), null_mut(), err);
        "request" => |w, p, n, err| as_invoke_wait(w.registry, p, n, null(), 0, &mut as_blob::default(), err);
        "options" => |w, p, n, err|
            as_invoke_wait(w.registry, REQUEST.as_ptr(), REQUEST.len(), p, n, &mut as_blob::default(), err);
        "consumer" => |w, p, n, err| as_consumer_close(w.registry, p, n, err);
        "query" => |w, p, n, err| as_outcome(w.registry, p, n, &mut as_blob::default(), err);
        "decision" => |w, p, n, err| as_confirm(w.registry, p, n, err);
        "id" => |w, p, n, err| as_confirmation_wait(w.registry, p, n, 0, &mut as_blob::default(), err);
        "context" => |w, p, n, err| as_snapshot(w.registry, p, n, &mut as_blob::default(), err);
        "context" => |w, p, n, err| as_dev_explain(w.registry, p, n, &mut as_blob::default(), err);
        "options" => |w, p, n, err| as_toolset_new(w.registry, p, n, &mut 0, err);
        "format" => |w, p, n, err| as_toolset_tools(w.toolset, p, n, &mut as_blob::default(), err);
        "format" => |w, p, n, err|
            as_toolset_render(w.toolset, p, n, b"{}".as_ptr(), 2, &mut as_blob::default(), err);
        "result" => |w, p, n, err| as_toolset_render(w.toolset, null(), 0, p, n, &mut as_blob::default(), err);
        "call" => |w, p, n, err| as_toolset_call(w.toolset, p, n, null(), null_mut(), err);
        "call" => |w, p, n, err| as_toolset_call_wait(w.toolset, p, n, &mut as_blob::default(), err);
        "json" => |_, p, n, err| as_canonical_json(p, n, &mut as_blob::default(), err);
        "capability_id" => |_, p, n, err| as_request_digest(p, n, null(), 0, &mut as_blob::default(), err);
        "input" => |_, p, n, err| as_request_digest(b"view:t.go".as_ptr(), 9, p, n, &mut as_blob::default(), err);
        "result" => |_, p, n, err|
            as_verify_result(p, n, REQUEST.as_ptr(), REQUEST.len(), &mut as_blob::default(), err);
        "request" => |_, p, n, err| as_verify_result(b"{}".as_ptr(), 2, p, n, &mut as_blob::default(), err);
    }
}

/// A registry with one component, one call, one listener, and one toolset.
struct World {
    registry: as_registry,
    registration: as_registration,
    invocation: as_invocation,
    subscription: as_subscription,
    toolset: as_toolset,
}

impl World {
    fn new() -> World {
        let mut w = World { registry: 0, registration: 0, invocation: 0, subscription: 0, toolset: 0 };
        let (definition, request, none) = (DEFINITION.as_ptr(), REQUEST.as_ptr(), null_mut());
        // SAFETY: whole literals, whole tables, outputs of our own.
        let codes = unsafe {
            [
                as_registry_new(null(), 0, null(), &mut w.registry, none),
                as_register(w.registry, definition, DEFINITION.len(), &binding(), 1, &mut w.registration, none),
                as_invoke(w.registry, request, REQUEST.len(), null(), 0, null(), &mut w.invocation, none),
                as_subscribe(w.registry, &listener(), &mut w.subscription, none),
                as_toolset_new(w.registry, TOOLSET.as_ptr(), TOOLSET.len(), &mut w.toolset, none),
            ]
        };
        assert_eq!(codes, [AS_OK; 5]);
        w
    }

    fn handle(&self, noun: &str) -> u64 {
        match noun {
            "registry" => self.registry,
            "registration" => self.registration,
            "invocation" => self.invocation,
            "toolset" => self.toolset,
            _ => self.subscription,
        }
    }

    fn end(&self) {
        // SAFETY: handles, checked; no output.
        let codes = unsafe {
            [
                as_toolset_free(self.toolset),
                as_unsubscribe(self.subscription),
                as_invocation_free(self.invocation),
                as_unregister(self.registration),
                as_registry_close(self.registry, -1, null_mut()),
                as_registry_free(self.registry),
            ]
        };
        assert_eq!(codes, [AS_OK; 6]);
    }
}

/// Calls with an error blob: the code, and the message that stands beside the same code in the blob.
fn refusal(call: impl FnOnce(*mut as_blob) -> as_code) -> (as_code, String) {
    let mut err = as_blob::default();
    let code = call(&mut err);
    assert!(!err.ptr.is_null(), "code {code}, and nothing was said");
    // SAFETY: the library filled it.
    let text = unsafe { slice::from_raw_parts(err.ptr, err.len) };
    let document: serde_json::Value = serde_json::from_slice(text).unwrap();
    assert_eq!(document["code"], code);
    // SAFETY: the blob is ours.
    unsafe { as_blob_free(&mut err) };
    (code, document["message"].as_str().unwrap().to_owned())
}

/// Holds every function of a noun against one handle: the code, and the message where there is one.
fn every_function(noun: &str, handle: u64, code: as_code, message: &str) {
    let speaking = match noun {
        "registry" => registry_functions(),
        "registration" => registration_functions(),
        "invocation" => invocation_functions(),
        "toolset" => toolset_functions(),
        _ => Vec::new(),
    };
    for (name, function) in speaking {
        let (mut out, mut made) = (as_blob { ptr: b"left over".as_ptr(), len: 9, opaque: null_mut() }, 0);
        let seen = refusal(|err| function(handle, &mut out, &mut made, err));
        assert_eq!(seen, (code, message.to_owned()), "{name}");
        assert!(made == 0 && out.opaque.is_null(), "{name}: nothing is made");
    }
    for (name, function) in silent_functions(noun) {
        let freeing = name.ends_with("_free") || name == "as_unregister" || name == "as_unsubscribe";
        let expected = match code {
            AS_E_NULL_HANDLE if freeing => AS_OK,
            AS_E_STALE_HANDLE if name == "as_unregister" => AS_OK,
            code => code,
        };
        assert_eq!(function(handle, null_mut(), null_mut(), null_mut()), expected, "{name}");
    }
}

const NOUNS: [&str; 6] = ["registry", "registration", "invocation", "subscription", "toolset", "reply"];

#[test]
fn no_handle() {
    for noun in NOUNS {
        every_function(noun, 0, AS_E_NULL_HANDLE, &format!("The {noun} handle is 0."));
    }
}

#[test]
fn a_number_that_was_never_a_handle() {
    for noun in NOUNS {
        for number in [1, 0xdead_beef, 1 << 59, 7 << 60, u64::MAX] {
            every_function(noun, number, AS_E_WRONG_HANDLE, &format!("This is not the handle of a {noun}."));
        }
    }
}

#[test]
fn a_handle_of_another_kind() {
    let world = World::new();
    for noun in NOUNS {
        for other in NOUNS.iter().filter(|&&other| other != noun && other != "reply") {
            let message = format!("This is not the handle of a {noun}.");
            every_function(noun, world.handle(other), AS_E_WRONG_HANDLE, &message);
        }
    }
    world.end();
}

#[test]
fn a_handle_that_was_freed() {
    let world = World::new();
    world.end();
    for noun in NOUNS.iter().filter(|&&noun| noun != "reply") {
        let message = format!("The {noun} handle was freed, or what it stood for is gone.");
        every_function(noun, world.handle(noun), AS_E_STALE_HANDLE, &message);
    }
}

#[test]
fn a_text_that_is_none() {
    let world = World::new();
    for (name, function) in texts() {
        let abuse = |p, n| refusal(|err| function(&world, p, n, err));
        let endless = (AS_E_ARGUMENT, format!("`{name}` is longer than any memory."));
        assert_eq!(abuse(null(), 1), (AS_E_ARGUMENT, format!("`{name}` is NULL, but its length is not 0.")));
        assert_eq!(abuse(b"x".as_ptr(), usize::MAX), endless);
        assert_eq!(abuse(b"x".as_ptr(), isize::MAX as usize + 1), endless);
        assert_eq!(abuse(b"ab\xff".as_ptr(), 3), (AS_E_UTF8, format!("`{name}` is not UTF-8, from byte 2 on.")));
    }
    world.end();
}

#[test]
fn an_output_that_is_missing() {
    let world = World::new();
    let (registry, none) = (world.registry, null_mut::<as_blob>());
    let calls: Vec<(&str, OnText)> = calls! {
        "out" => |_, _, _, err| as_registry_new(null(), 0, null(), null_mut(), err);
        "out" => |w, _, _, err|
            as_register(w.registry, DEFINITION.as_ptr(), DEFINITION.len(), &binding(), 1, null_mut(), err);
        "result" => |w, _, _, err|
            as_invoke_wait(w.registry, REQUEST.as_ptr(), REQUEST.len(), null(), 0, null_mut(), err);
        "result" => |w, _, _, err| as_invocation_wait(w.invocation, 0, null_mut(), err);
        "out" => |w, _, _, err| as_registration_info(w.registration, null_mut(), err);
        "out" => |w, _, _, err| as_registry_info(w.registry, null_mut(), err);
        "out" => |w, _, _, err| as_next(w.registry, 0, null_mut(), err);
        "out" => |w, _, _, err| as_outcome(w.registry, null(), 0, null_mut(), err);
        "out" => |w, _, _, err| as_confirmations(w.registry, null_mut(), err);
        "out" => |w, _, _, err| as_confirmation_subscribe(w.registry, &listener(), null_mut(), err);
        "out" => |w, _, _, err| as_confirmation_wait(w.registry, null(), 0, 0, null_mut(), err);
        "out" => |w, _, _, err| as_snapshot(w.registry, null(), 0, null_mut(), err);
        "out" => |w, _, _, err| as_subscribe(w.registry, &listener(), null_mut(), err);
        "out" => |w, _, _, err| as_audit_read(w.registry, 0, null_mut(), err);
        "out" => |w, _, _, err| as_dev_explain(w.registry, null(), 0, null_mut(), err);
        "out" => |w, _, _, err| as_toolset_new(w.registry, TOOLSET.as_ptr(), TOOLSET.len(), null_mut(), err);
        "out" => |w, _, _, err| as_toolset_tools(w.toolset, null(), 0, null_mut(), err);
        "out" => |w, _, _, err| as_toolset_info(w.toolset, null_mut(), err);
        "out" => |w, _, _, err| as_toolset_render(w.toolset, null(), 0, b"{}".as_ptr(), 2, null_mut(), err);
        "result" => |w, _, _, err| as_toolset_call_wait(w.toolset, b"{}".as_ptr(), 2, null_mut(), err);
        "out" => |_, _, _, err| as_canonical_json(b"1".as_ptr(), 1, null_mut(), err);
        "out" => |_, _, _, err| as_request_digest(b"view:t.go".as_ptr(), 9, null(), 0, null_mut(), err);
        "report" => |_, _, _, err| as_verify_result(b"{}".as_ptr(), 2, b"{}".as_ptr(), 2, null_mut(), err);
    };
    for (name, function) in calls {
        let seen = refusal(|err| function(&world, null(), 0, err));
        assert_eq!(seen, (AS_E_ARGUMENT, format!("`{name}` is NULL.")));
    }
    // SAFETY: NULL is allowed everywhere here.
    let silent = unsafe { [as_dev_live(none), as_blob_free(none)] };
    assert_eq!(silent, [AS_E_ARGUMENT; 2]);
    // SAFETY: the handle is checked, and a text is NULL with 0.
    assert_eq!(unsafe { as_snapshot(registry, null(), 0, none, none) }, AS_E_ARGUMENT, "nobody need listen");
    world.end();
}

#[test]
fn a_wait_that_is_below_minus_one() {
    let world = World::new();
    let calls: Vec<(&str, OnText)> = calls! {
        "close" => |w, _, _, err| as_registry_close(w.registry, -2, err);
        "next" => |w, _, _, err| as_next(w.registry, i64::MIN, &mut as_blob::default(), err);
        "invocation" => |w, _, _, err| as_invocation_wait(w.invocation, -2, &mut as_blob::default(), err);
        "confirmation" => |w, _, _, err|
            as_confirmation_wait(w.registry, b"x".as_ptr(), 1, -2, &mut as_blob::default(), err);
        "advance" => |w, _, _, err| as_dev_advance(w.registry, 1, -2, err);
        "quiesce" => |w, _, _, err| as_dev_quiesce(w.registry, -2, err);
    };
    let message = "`timeout_ms` is below -1, which stands for ever.".to_owned();
    for (name, function) in calls {
        assert_eq!(refusal(|err| function(&world, null(), 0, err)), (AS_E_ARGUMENT, message.clone()), "{name}");
    }
    world.end();
}

#[test]
#[cfg(target_pointer_width = "64")] // the sizes that the messages say
fn a_table_that_is_none() {
    let world = World::new();
    let calls: Vec<(&str, OnText)> = calls! {
        "`hooks` is NULL." => |w, _, _, err| as_policy_define(w.registry, b"p".as_ptr(), 1, null(), err);
        "`hooks` is NULL." => |w, _, _, err| as_executor_set(w.registry, b"[]".as_ptr(), 2, null(), err);
        "`hooks` is NULL." => |w, _, _, err| as_subscribe(w.registry, null(), &mut 0, err);
        "`hooks` is NULL." => |w, _, _, err| as_confirmation_subscribe(w.registry, null(), &mut 0, err);
        "`bindings` is NULL, but its count is not 0." => |w, _, _, err|
            as_register(w.registry, DEFINITION.as_ptr(), DEFINITION.len(), null(), 1, &mut 0, err);
        "`bindings` is NULL, but its count is not 0." => |w, _, _, err|
            as_registration_rebind(w.registration, null(), 1, err);
        "`hooks`: struct_size is 55, not 56 or somewhat more." => |w, _, _, err| {
            let short = as_hooks_policy { struct_size: 55, ..policy() };
            as_policy_define(w.registry, b"p".as_ptr(), 1, &short, err)
        };
        "`bindings[0]`: struct_size is 4097, not 80 or somewhat more." => |w, _, _, err| {
            let long = as_binding { struct_size: 4097, ..binding() };
            as_registration_rebind(w.registration, &long, 1, err)
        };
        "`hooks`: flags holds one that is unknown." => |w, _, _, err| {
            let flagged = as_hooks_event { flags: 0x8000_0000, ..listener() };
            as_subscribe(w.registry, &flagged, &mut 0, err)
        };
        "`hooks`: `on_event` is NULL." => |w, _, _, err| {
            let deaf = as_hooks_event { on_event: None, ..listener() };
            as_subscribe(w.registry, &deaf, &mut 0, err)
        };
        "`hooks`: `handler` is NULL." => |w, _, _, err| {
            let idle = as_hooks_handler { handler: None, ..executor() };
            as_executor_set(w.registry, b"[]".as_ptr(), 2, &idle, err)
        };
    };
    for (message, function) in calls {
        assert_eq!(refusal(|err| function(&world, null(), 0, err)), (AS_E_ARGUMENT, message.to_owned()));
    }
    world.end();
}

unsafe extern "C" fn answer_null(_: *mut c_void, reply: as_reply, _: *const u8, _: usize, _: *const u8, _: usize) {
    // SAFETY: a whole literal.
    unsafe { as_reply_json(reply, b"null".as_ptr(), 4) };
}
unsafe extern "C" fn listen(_: *mut c_void, _: *const u8, _: usize) {}
unsafe extern "C" fn take_notice(_: *mut c_void) {}

/// A table with the members that every one has.
macro_rules! table {
    ($table:ident { $($member:ident: $value:expr),* $(,)? }) => {
        $table {
            struct_size: size_of::<$table>() as u32,
            flags: 0,
            user_data: null_mut(),
            destroy: None,
            $($member: $value),*
        }
    };
}

fn policy() -> as_hooks_policy {
    table!(as_hooks_policy { on_discovery: None, on_authorize: None, on_invoke: None, on_result: None })
}

fn executor() -> as_hooks_handler {
    table!(as_hooks_handler { handler: Some(answer_null) })
}

fn binding() -> as_binding {
    table!(as_binding {
        name: b"go".as_ptr(),
        name_len: 2,
        handler: Some(answer_null),
        when: None,
        precondition: None,
        bind: None,
        describe: None,
    })
}

fn listener() -> as_hooks_event {
    table!(as_hooks_event { on_event: Some(listen) })
}

fn result() -> as_hooks_result {
    table!(as_hooks_result { on_result: Some(listen) })
}

fn notice() -> as_hooks_notify {
    table!(as_hooks_notify { notify: Some(take_notice) })
}
