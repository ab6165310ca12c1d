//! A host in Rust that speaks to the C functions: closures as callback tables, gates to block them at, and patience that
//! ends a test instead of hanging it.
#![allow(dead_code)] // each test file uses a part

use agent_surface::ffi::*;
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub use serde_json::{Value, json};

/// Longer than anything here takes: who waits so long hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The same, for functions of the library.
pub const PATIENCE_MS: i64 = 30_000;

/// A number that threads wait for.
#[derive(Default)]
pub struct Count(Mutex<usize>, Condvar);

impl Count {
    pub fn new() -> Arc<Count> {
        Arc::default()
    }

    pub fn add(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_all();
    }

    pub fn get(&self) -> usize {
        *self.0.lock().unwrap()
    }

    /// Waits until it is at least `n`.
    pub fn reach(&self, n: usize) {
        let until = Instant::now() + PATIENCE;
        let mut count = self.0.lock().unwrap();
        while *count < n {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} of {n} came", *count);
            count = self.1.wait_timeout(count, left).unwrap().0;
        }
    }
}

/// Where callbacks block until it is opened. Opens by itself when the test fails, so that nothing hangs on.
pub struct Gate {
    pub entered: Arc<Count>,
    opened: Arc<Count>,
}

impl Gate {
    pub fn new() -> Arc<Gate> {
        Arc::new(Gate { entered: Count::new(), opened: Count::new() })
    }

    pub fn pass(&self) {
        self.entered.add();
        // Not for ever, should nobody open it; and no panic inside a callback.
        let opened = self.opened.0.lock().unwrap();
        drop(self.opened.1.wait_timeout_while(opened, 2 * PATIENCE, |opened| *opened == 0));
    }

    pub fn open(&self) {
        self.opened.add();
    }
}

/// Opens a gate at the end of a scope, however it ends.
pub struct OpenAtEnd(pub Arc<Gate>);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// What a callback is called with.
pub struct Ask<'a> {
    pub reply: as_reply,
    pub context: &'a [u8],
    /// The input of a handler, the result of an `on_result`.
    pub input: &'a [u8],
}

impl Ask<'_> {
    pub fn json(&self, text: &str) -> as_code {
        reply_json(self.reply, text)
    }

    pub fn context(&self) -> Value {
        serde_json::from_slice(self.context).unwrap()
    }
}

pub type Body = Box<dyn Fn(&Ask) + Send + Sync>;

/// The `user_data` of a table: its functions, by their place in the table, and what is noted of them.
pub struct Table {
    functions: Vec<Option<Body>>,
    at_destroy: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    seen: Arc<Seen>,
}

/// What became of a table.
#[derive(Default)]
pub struct Seen {
    pub calls: Count,
    pub destroyed: Count,
    running: AtomicUsize,
    /// Most calls at once.
    pub most: AtomicUsize,
}

impl Seen {
    /// The table was destroyed once, after its last call.
    pub fn destroyed_once(&self) {
        self.destroyed.reach(1);
        assert_eq!(self.destroyed.get(), 1, "destroyed more than once");
        assert_eq!(self.running.load(Ordering::SeqCst), 0);
    }
}

pub struct Built {
    pub user_data: *mut c_void,
    pub seen: Arc<Seen>,
}

/// A table of `functions`; `None` where it has none.
pub fn table(functions: Vec<Option<Body>>) -> Built {
    table_with(functions, None)
}

pub fn table_with(functions: Vec<Option<Body>>, at_destroy: Option<Box<dyn FnOnce() + Send>>) -> Built {
    let seen = Arc::new(Seen::default());
    let table = Table { functions, at_destroy: Mutex::new(at_destroy), seen: seen.clone() };
    Built { user_data: Box::into_raw(Box::new(table)).cast(), seen }
}

fn call(user_data: *mut c_void, index: usize, ask: &Ask) {
    // SAFETY: every table here is made by `table`, and lives until `destroy`.
    let table = unsafe { &*user_data.cast::<Table>() };
    let running = table.seen.running.fetch_add(1, Ordering::SeqCst) + 1;
    table.seen.most.fetch_max(running, Ordering::SeqCst);
    table.functions[index].as_ref().unwrap()(ask);
    table.seen.running.fetch_sub(1, Ordering::SeqCst);
    table.seen.calls.add();
}

pub unsafe extern "C" fn hook<const N: usize>(user_data: *mut c_void, reply: as_reply, context: *const u8, len: usize) {
    // SAFETY: the view of the call.
    let context = unsafe { slice::from_raw_parts(context, len) };
    call(user_data, N, &Ask { reply, context, input: &[] });
}

pub unsafe extern "C" fn handler<const N: usize>(
    user_data: *mut c_void,
    reply: as_reply,
    context: *const u8,
    context_len: usize,
    input: *const u8,
    input_len: usize,
) {
    // SAFETY: the views of the call.
    let (context, input) =
        unsafe { (slice::from_raw_parts(context, context_len), slice::from_raw_parts(input, input_len)) };
    call(user_data, N, &Ask { reply, context, input });
}

pub unsafe extern "C" fn told<const N: usize>(user_data: *mut c_void, text: *const u8, len: usize) {
    // SAFETY: the view of the call.
    let context = unsafe { slice::from_raw_parts(text, len) };
    call(user_data, N, &Ask { reply: 0, context, input: &[] });
}

pub unsafe extern "C" fn noticed(user_data: *mut c_void) {
    call(user_data, 0, &Ask { reply: 0, context: &[], input: &[] });
}

pub unsafe extern "C" fn destroy(user_data: *mut c_void) {
    // SAFETY: `table` gave the pointer out of a box, and the library destroys it once. Were it twice, the count would
    // tell on a freed box, so the box is kept.
    let table: &'static Table = unsafe { &*user_data.cast::<Table>() };
    assert_eq!(table.seen.running.load(Ordering::SeqCst), 0, "destroyed under a call");
    if let Some(at_destroy) = table.at_destroy.lock().unwrap().take() {
        at_destroy();
    }
    table.seen.destroyed.add();
}

pub fn body(f: impl Fn(&Ask) + Send + Sync + 'static) -> Option<Body> {
    Some(Box::new(f))
}

/// Answers every call with the same.
pub fn answers(text: &'static str) -> Option<Body> {
    body(move |ask| {
        ask.json(text);
    })
}

pub fn handler_table(flags: u32, built: &Built) -> as_hooks_handler {
    as_hooks_handler {
        struct_size: size_of::<as_hooks_handler>() as u32,
        flags,
        user_data: built.user_data,
        handler: Some(handler::<0>),
        destroy: Some(destroy),
    }
}

/// Functions in the order handler, when, precondition, bind, describe.
pub fn binding(name: &'static str, flags: u32, functions: Vec<Option<Body>>) -> (as_binding, Arc<Seen>) {
    binding_of(name, flags, table(pad(functions, 5)))
}

pub fn binding_of(name: &'static str, flags: u32, built: Built) -> (as_binding, Arc<Seen>) {
    // SAFETY: made a moment ago.
    let has = |index: usize| unsafe { &*built.user_data.cast::<Table>() }.functions[index].is_some();
    let binding = as_binding {
        struct_size: size_of::<as_binding>() as u32,
        flags,
        name: name.as_ptr(),
        name_len: name.len(),
        user_data: built.user_data,
        handler: has(0).then_some(handler::<0> as _),
        when: has(1).then_some(hook::<1> as _),
        precondition: has(2).then_some(hook::<2> as _),
        bind: has(3).then_some(hook::<3> as _),
        describe: has(4).then_some(hook::<4> as _),
        destroy: Some(destroy),
    };
    (binding, built.seen)
}

pub fn pad(mut functions: Vec<Option<Body>>, to: usize) -> Vec<Option<Body>> {
    functions.resize_with(to, || None);
    functions
}

/// Functions in the order on_discovery, on_authorize, on_invoke, on_result.
pub fn policy(flags: u32, functions: Vec<Option<Body>>) -> (as_hooks_policy, Arc<Seen>) {
    let functions = pad(functions, 4);
    let has: Vec<bool> = functions.iter().map(Option::is_some).collect();
    let built = table(functions);
    let table = as_hooks_policy {
        struct_size: size_of::<as_hooks_policy>() as u32,
        flags,
        user_data: built.user_data,
        on_discovery: has[0].then_some(hook::<0> as _),
        on_authorize: has[1].then_some(hook::<1> as _),
        on_invoke: has[2].then_some(hook::<2> as _),
        on_result: has[3].then_some(handler::<3> as _),
        destroy: Some(destroy),
    };
    (table, built.seen)
}

/// Functions in the order context, route, on_register, redact, audit, log.
pub fn host(flags: u32, functions: Vec<Option<Body>>) -> (as_hooks_host, Arc<Seen>) {
    host_of(flags, pad(functions, 6), None)
}

pub fn host_of(
    flags: u32,
    functions: Vec<Option<Body>>,
    at_destroy: Option<Box<dyn FnOnce() + Send>>,
) -> (as_hooks_host, Arc<Seen>) {
    let has: Vec<bool> = functions.iter().map(Option::is_some).collect();
    let built = table_with(functions, at_destroy);
    let table = as_hooks_host {
        struct_size: size_of::<as_hooks_host>() as u32,
        flags,
        user_data: built.user_data,
        context: has[0].then_some(hook::<0> as _),
        route: has[1].then_some(hook::<1> as _),
        on_register: has[2].then_some(hook::<2> as _),
        redact: has[3].then_some(hook::<3> as _),
        audit: has[4].then_some(told::<4> as _),
        log: has[5].then_some(told::<5> as _),
        destroy: Some(destroy),
    };
    (table, built.seen)
}

pub fn listener(f: impl Fn(&Ask) + Send + Sync + 'static) -> (as_hooks_event, Arc<Seen>) {
    listener_of(table(vec![body(f)]))
}

pub fn listener_of(built: Built) -> (as_hooks_event, Arc<Seen>) {
    let table = as_hooks_event {
        struct_size: size_of::<as_hooks_event>() as u32,
        flags: 0,
        user_data: built.user_data,
        on_event: Some(told::<0>),
        destroy: Some(destroy),
    };
    (table, built.seen)
}

pub fn on_result(f: impl Fn(&Ask) + Send + Sync + 'static) -> (as_hooks_result, Arc<Seen>) {
    on_result_of(table(vec![body(f)]))
}

pub fn on_result_of(built: Built) -> (as_hooks_result, Arc<Seen>) {
    let table = as_hooks_result {
        struct_size: size_of::<as_hooks_result>() as u32,
        flags: 0,
        user_data: built.user_data,
        on_result: Some(told::<0>),
        destroy: Some(destroy),
    };
    (table, built.seen)
}

pub fn notify(f: impl Fn(&Ask) + Send + Sync + 'static) -> (as_hooks_notify, Arc<Seen>) {
    let built = table(vec![body(f)]);
    let table = as_hooks_notify {
        struct_size: size_of::<as_hooks_notify>() as u32,
        flags: 0,
        user_data: built.user_data,
        notify: Some(noticed),
        destroy: Some(destroy),
    };
    (table, built.seen)
}

// The functions, with texts for pointers.

pub fn take(blob: &mut as_blob) -> Value {
    if blob.ptr.is_null() {
        return Value::Null;
    }
    // SAFETY: the library filled it.
    let value = serde_json::from_slice(unsafe { slice::from_raw_parts(blob.ptr, blob.len) }).unwrap();
    // SAFETY: the blob is ours.
    assert_eq!(unsafe { as_blob_free(blob) }, AS_OK);
    value
}

pub fn registry(config: Value, hooks: Option<&as_hooks_host>) -> as_registry {
    match try_registry(config, hooks) {
        Ok(registry) => registry,
        Err((code, err)) => panic!("{code}: {err}"),
    }
}

pub fn try_registry(config: Value, hooks: Option<&as_hooks_host>) -> Result<as_registry, (as_code, Value)> {
    let (config, mut out, mut err) = (config.to_string(), 0, as_blob::default());
    // SAFETY: whole texts, tables, outputs of our own; so everywhere below.
    let code =
        unsafe { as_registry_new(config.as_ptr(), config.len(), hooks.map_or(null(), |h| h as _), &mut out, &mut err) };
    if code == AS_OK { Ok(out) } else { Err((code, take(&mut err))) }
}

pub fn register(registry: as_registry, definition: Value, bindings: &[as_binding]) -> as_registration {
    let (code, registration) = try_register(registry, definition, bindings);
    assert_eq!(code, AS_OK);
    registration
}

pub fn try_register(registry: as_registry, definition: Value, bindings: &[as_binding]) -> (as_code, as_registration) {
    let (definition, mut out) = (definition.to_string(), 0);
    let (at, len) = (definition.as_ptr(), definition.len());
    let code = unsafe { as_register(registry, at, len, bindings.as_ptr(), bindings.len(), &mut out, null_mut()) };
    (code, out)
}

pub fn invoke(registry: as_registry, request: Value, options: Value, hooks: Option<&as_hooks_result>) -> as_invocation {
    let (code, invocation) = try_invoke(registry, request, options, hooks);
    assert_eq!(code, AS_OK);
    invocation
}

pub fn try_invoke(
    registry: as_registry,
    request: Value,
    options: Value,
    hooks: Option<&as_hooks_result>,
) -> (as_code, as_invocation) {
    let (request, options, mut out) = (request.to_string(), options.to_string(), 0);
    let code = unsafe {
        let (r, o) = ((request.as_ptr(), request.len()), (options.as_ptr(), options.len()));
        as_invoke(registry, r.0, r.1, o.0, o.1, hooks.map_or(null(), |h| h as _), &mut out, null_mut())
    };
    (code, out)
}

pub fn invoke_wait(registry: as_registry, request: Value) -> Result<Value, as_code> {
    invoke_wait_with(registry, request, json!({}))
}

pub fn invoke_wait_with(registry: as_registry, request: Value, options: Value) -> Result<Value, as_code> {
    let (request, options, mut out) = (request.to_string(), options.to_string(), as_blob::default());
    let code = unsafe {
        let (r, o) = ((request.as_ptr(), request.len()), (options.as_ptr(), options.len()));
        as_invoke_wait(registry, r.0, r.1, o.0, o.1, &mut out, null_mut())
    };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

pub fn wait(invocation: as_invocation) -> Result<Value, as_code> {
    wait_for(invocation, PATIENCE_MS)
}

pub fn wait_for(invocation: as_invocation, timeout_ms: i64) -> Result<Value, as_code> {
    let mut out = as_blob::default();
    let code = unsafe { as_invocation_wait(invocation, timeout_ms, &mut out, null_mut()) };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

pub fn cancel(invocation: as_invocation) {
    assert_eq!(unsafe { as_invocation_cancel(invocation) }, AS_OK);
}

pub fn free(invocation: as_invocation) {
    assert_eq!(unsafe { as_invocation_free(invocation) }, AS_OK);
}

pub fn unregister(registration: as_registration) {
    assert_eq!(unsafe { as_unregister(registration) }, AS_OK);
}

pub fn close(registry: as_registry, timeout_ms: i64) -> as_code {
    unsafe { as_registry_close(registry, timeout_ms, null_mut()) }
}

/// Closes and frees; after this nothing of the registry is left.
pub fn end(registry: as_registry) {
    assert_eq!(close(registry, PATIENCE_MS), AS_OK);
    assert_eq!(unsafe { as_registry_free(registry) }, AS_OK);
}

pub fn consumer_close(registry: as_registry, consumer: &Value) {
    let text = consumer.to_string();
    assert_eq!(unsafe { as_consumer_close(registry, text.as_ptr(), text.len(), null_mut()) }, AS_OK);
}

pub fn executor_set(registry: as_registry, paths: Value, hooks: &as_hooks_handler) -> as_code {
    let paths = paths.to_string();
    unsafe { as_executor_set(registry, paths.as_ptr(), paths.len(), hooks, null_mut()) }
}

pub fn quiesce(registry: as_registry) {
    assert_eq!(unsafe { as_dev_quiesce(registry, PATIENCE_MS, null_mut()) }, AS_OK);
}

pub fn advance(registry: as_registry, ms: i64) {
    assert_eq!(unsafe { as_dev_advance(registry, ms, PATIENCE_MS, null_mut()) }, AS_OK);
}

pub fn snapshot(registry: as_registry) -> Result<Value, as_code> {
    snapshot_of(registry, json!({}))
}

pub fn snapshot_of(registry: as_registry, context: Value) -> Result<Value, as_code> {
    let (context, mut out) = (context.to_string(), as_blob::default());
    let code = unsafe { as_snapshot(registry, context.as_ptr(), context.len(), &mut out, null_mut()) };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

pub fn explain(registry: as_registry) -> Result<Value, as_code> {
    let mut out = as_blob::default();
    let code = unsafe { as_dev_explain(registry, null(), 0, &mut out, null_mut()) };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

/// A toolset, freed with this value.
pub struct Toolset(as_toolset);

impl Toolset {
    pub fn new(registry: as_registry, options: Value) -> Result<Toolset, as_code> {
        let (options, mut out) = (options.to_string(), 0);
        let code = unsafe { as_toolset_new(registry, options.as_ptr(), options.len(), &mut out, null_mut()) };
        if code == AS_OK { Ok(Toolset(out)) } else { Err(code) }
    }

    pub fn call(&self, call: Value) -> Result<Value, as_code> {
        let (call, mut out) = (call.to_string(), as_blob::default());
        let code = unsafe { as_toolset_call_wait(self.0, call.as_ptr(), call.len(), &mut out, null_mut()) };
        if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
    }

    pub fn start(&self, call: Value, hooks: &as_hooks_result) -> as_code {
        let call = call.to_string();
        unsafe { as_toolset_call(self.0, call.as_ptr(), call.len(), hooks, null_mut(), null_mut()) }
    }
}

impl Drop for Toolset {
    fn drop(&mut self) {
        unsafe { as_toolset_free(self.0) };
    }
}

pub fn info(registry: as_registry) -> Value {
    let mut out = as_blob::default();
    assert_eq!(unsafe { as_registry_info(registry, &mut out, null_mut()) }, AS_OK);
    take(&mut out)
}

pub fn subscribe(registry: as_registry, hooks: &as_hooks_event) -> as_subscription {
    let mut out = 0;
    assert_eq!(unsafe { as_subscribe(registry, hooks, &mut out, null_mut()) }, AS_OK);
    out
}

pub fn unsubscribe(subscription: as_subscription) {
    assert_eq!(unsafe { as_unsubscribe(subscription) }, AS_OK);
}

pub fn define(registry: as_registry, name: &str, hooks: &as_hooks_policy) {
    assert_eq!(unsafe { as_policy_define(registry, name.as_ptr(), name.len(), hooks, null_mut()) }, AS_OK);
}

pub fn audit(registry: as_registry) -> Vec<Value> {
    let mut out = as_blob::default();
    assert_eq!(unsafe { as_audit_read(registry, 0, &mut out, null_mut()) }, AS_OK);
    take(&mut out).as_array().unwrap().clone()
}

pub fn outcome(registry: as_registry, invocation_id: &str) -> Result<Value, as_code> {
    let (query, mut out) = (json!({ "invocationId": invocation_id }).to_string(), as_blob::default());
    let code = unsafe { as_outcome(registry, query.as_ptr(), query.len(), &mut out, null_mut()) };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

/// The next request of a pull registry.
pub fn next(registry: as_registry, timeout_ms: i64) -> Result<Value, as_code> {
    let mut out = as_blob::default();
    let code = unsafe { as_next(registry, timeout_ms, &mut out, null_mut()) };
    if code == AS_OK { Ok(take(&mut out)) } else { Err(code) }
}

/// The reply handle of a request.
pub fn reply_of(request: &Value) -> as_reply {
    request["reply"].as_str().unwrap().parse().unwrap()
}

pub fn reply_json(reply: as_reply, text: &str) -> as_code {
    unsafe { as_reply_json(reply, text.as_ptr(), text.len()) }
}

pub fn defer(reply: as_reply) -> as_code {
    unsafe { as_reply_defer(reply) }
}

pub fn allow(reply: as_reply) -> as_code {
    unsafe { as_reply_allow(reply) }
}

pub fn aborted(reply: as_reply) -> Result<bool, as_code> {
    let mut out = 0;
    let code = unsafe { as_reply_aborted(reply, &mut out) };
    if code == AS_OK { Ok(out == 1) } else { Err(code) }
}

pub fn live() -> Value {
    let mut out = as_blob::default();
    assert_eq!(unsafe { as_dev_live(&mut out) }, AS_OK);
    take(&mut out)
}

/// One component `t` with the actions and observations named; each action in a group of its own.
pub fn component(actions: &[&str], observations: &[&str]) -> Value {
    let mut definition = json!({ "type": "t", "description": "A thing" });
    for name in actions {
        definition["actions"][name] = json!({ "description": "Go", "effect": "local-state", "idempotent": true,
            "input": { "type": "object" }, "concurrency": { "mode": "parallel", "max": 1000 } });
    }
    for name in observations {
        definition["observations"][name] = json!({ "description": "See", "output": {} });
    }
    definition
}

pub fn request(name: &str) -> Value {
    json!({ "capabilityId": format!("view:t.{name}") })
}

/// What became of a call: `ok`, or the code of its error.
pub fn status(result: &Value) -> &str {
    result["error"]["code"].as_str().or(result["status"].as_str()).unwrap()
}

/// Tests that hang workers or count what lives in the process take turns.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|failed| failed.into_inner())
}
