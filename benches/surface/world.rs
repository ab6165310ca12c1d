//! A registry as a host has it: through the C ABI, with the components that are measured.

use agent_surface::ffi::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::slice;

pub const EMPTY: as_blob = as_blob { ptr: null(), len: 0, opaque: null_mut() };

/// A registry and what is registered in it.
pub struct World {
    pub registry: as_registry,
    registrations: Vec<as_registration>,
}

/// What a component needs of the host besides its definition.
#[derive(Clone, Copy)]
pub struct Functions {
    pub read: as_fn_handler,
    pub execute: as_fn_handler,
}

pub const AT_ONCE: Functions = Functions { read: Some(answer_rows), execute: Some(answer_nothing) };

impl World {
    pub fn new(config: &str) -> World {
        let mut registry = 0;
        // SAFETY: every pointer is a reference or a text with its length.
        check(unsafe { as_registry_new(config.as_ptr(), config.len(), null(), &mut registry, null_mut()) });
        World { registry, registrations: Vec::new() }
    }

    /// A registry with `count` components of types of their own.
    pub fn with_components(count: usize) -> World {
        let mut world = World::new(&roomy());
        (0..count).for_each(|n| world.register(&definition(&component_type(n), "main"), AT_ONCE));
        world
    }

    /// A registry with `count` instances of one type.
    pub fn with_instances(count: usize) -> World {
        let mut world = World::new(&roomy());
        (0..count).for_each(|n| world.register(&definition(&component_type(0), &format!("i{n}")), AT_ONCE));
        world
    }

    pub fn register(&mut self, definition: &str, functions: Functions) {
        let handle = self.add(definition, functions);
        self.registrations.push(handle);
    }

    pub fn add(&self, definition: &str, functions: Functions) -> as_registration {
        let bindings = [binding("rows", functions.read), binding("select", functions.execute)];
        let (mut handle, mut err) = (0, EMPTY);
        // SAFETY: as above; the names live as long as the program.
        let code = unsafe {
            as_register(
                self.registry,
                definition.as_ptr(),
                definition.len(),
                bindings.as_ptr(),
                2,
                &mut handle,
                &mut err,
            )
        };
        assert_eq!(code, AS_OK, "{}", text(&err));
        handle
    }

    /// A host policy that allows everything, before the input and over it.
    pub fn define_policy(&self, name: &str) {
        let hooks = as_hooks_policy {
            struct_size: size_of::<as_hooks_policy>() as u32,
            flags: 0,
            user_data: null_mut(),
            on_discovery: None,
            on_authorize: Some(allow),
            on_invoke: Some(allow),
            on_result: None,
            destroy: None,
        };
        // SAFETY: as above.
        check(unsafe { as_policy_define(self.registry, name.as_ptr(), name.len(), &hooks, null_mut()) });
    }

    /// Calls, waits, and asserts that it went well.
    pub fn call(&self, request: &str, options: &str) {
        let mut result = EMPTY;
        // SAFETY: as above; the blob is freed once.
        unsafe {
            let (registry, r, o) = (self.registry, request, options);
            let code = as_invoke_wait(registry, r.as_ptr(), r.len(), o.as_ptr(), o.len(), &mut result, null_mut());
            assert_eq!(code, AS_OK);
            assert!(text(&result).starts_with(r#"{"status":"ok""#), "{}", text(&result));
            as_blob_free(&mut result);
        }
    }

    pub fn snapshot(&self) -> as_blob {
        let mut out = EMPTY;
        // SAFETY: as above.
        check(unsafe { as_snapshot(self.registry, null(), 0, &mut out, null_mut()) });
        out
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: handles are numbers.
        unsafe {
            as_registry_close(self.registry, -1, null_mut());
            as_registry_free(self.registry);
            self.registrations.iter().for_each(|registration| check(as_unregister(*registration)));
        }
    }
}

pub fn unregister(handle: as_registration) {
    // SAFETY: a handle is a number.
    check(unsafe { as_unregister(handle) });
}

fn binding(name: &'static str, handler: as_fn_handler) -> as_binding {
    as_binding {
        struct_size: size_of::<as_binding>() as u32,
        flags: 0,
        name: name.as_ptr(),
        name_len: name.len(),
        user_data: null_mut(),
        handler,
        when: None,
        precondition: None,
        bind: None,
        describe: None,
        destroy: None,
    }
}

// ---- what the agent sees ---------------------------------------------------------------------------------------------

fn roomy() -> String {
    r#"{"limits":{"maxRegistrations":20000}}"#.into()
}

pub fn component_type(n: usize) -> String {
    format!("bench.table-{n}")
}

pub const INPUT_SCHEMA: &str = r#"{"type":"object","required":["ids"],"additionalProperties":false,"properties":{
    "ids":{"type":"array","items":{"type":"string","minLength":1,"maxLength":64},"minItems":1,"maxItems":100},
    "mode":{"type":"string","enum":["replace","add","remove"]},
    "limit":{"type":"integer","minimum":1,"maximum":500},
    "filter":{"type":"object","properties":{"site":{"type":"string"},"online":{"type":"boolean"}}}}}"#;

pub const INPUT: &str =
    r#"{"ids":["d-101","d-102","d-103"],"mode":"replace","limit":25,"filter":{"site":"north","online":true}}"#;

pub fn definition(component_type: &str, instance: &str) -> String {
    format!(
        r#"{{"type":"{component_type}","instanceId":"{instance}","description":"The devices of one site, as a table",
        "observations":{{"rows":{{"description":"What the table shows","output":{{"type":"object"}}}}}},
        "actions":{{"select":{{"description":"Select rows of the table","effect":"local-state","input":{INPUT_SCHEMA}}}}}}}"#
    )
}

pub fn select(component_type: &str) -> String {
    format!(r#"{{"capabilityId":"view:{component_type}.select","input":{INPUT}}}"#)
}

pub fn rows(component_type: &str) -> String {
    format!(r#"{{"capabilityId":"view:{component_type}.rows"}}"#)
}

// ---- what the host does ----------------------------------------------------------------------------------------------

unsafe extern "C" fn answer_nothing(_: *mut c_void, reply: as_reply, _: *const u8, _: usize, _: *const u8, _: usize) {
    // SAFETY: NULL with 0 is empty.
    unsafe { as_reply_json(reply, null(), 0) };
}

unsafe extern "C" fn answer_rows(_: *mut c_void, reply: as_reply, _: *const u8, _: usize, _: *const u8, _: usize) {
    let rows = r#"{"rows":3}"#;
    // SAFETY: a text with its length.
    unsafe { as_reply_json(reply, rows.as_ptr(), rows.len()) };
}

unsafe extern "C" fn allow(_: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    // SAFETY: a handle is a number.
    unsafe { as_reply_allow(reply) };
}

// ---- blobs -----------------------------------------------------------------------------------------------------------

pub fn check(code: as_code) {
    assert_eq!(code, AS_OK);
}

pub fn text(blob: &as_blob) -> &str {
    if blob.ptr.is_null() {
        return "";
    }
    // SAFETY: a blob the library filled, not freed yet.
    std::str::from_utf8(unsafe { slice::from_raw_parts(blob.ptr, blob.len) }).expect("UTF-8")
}

pub fn free(mut blob: as_blob) {
    // SAFETY: ours, and freed once.
    check(unsafe { as_blob_free(&mut blob) });
}
