//! The callback tables and the functions in them. Each table owns one Rust value, which its `destroy` drops; a function
//! finds its value behind `user_data` and lets no panic through.

use crate::abi::{
    as_binding, as_hooks_event, as_hooks_handler, as_hooks_host, as_hooks_policy, as_hooks_result, as_reply,
};
use crate::host::{Answers, Host, Site};
use crate::json::Json;
use crate::play;
use crate::script::Answer;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Binding {
    host: Arc<Host>,
    site: Option<Site>,
    answers: Arc<Answers>,
}

struct Hooked {
    host: Arc<Host>,
    policy: String,
}

struct Counted {
    host: Arc<Host>,
    count: Arc<AtomicUsize>,
}

impl AsRef<Host> for Binding {
    fn as_ref(&self) -> &Host {
        &self.host
    }
}

impl AsRef<Host> for Hooked {
    fn as_ref(&self) -> &Host {
        &self.host
    }
}

impl AsRef<Host> for Counted {
    fn as_ref(&self) -> &Host {
        &self.host
    }
}

/* tables */

pub fn host_table(host: &Arc<Host>, audit: bool) -> as_hooks_host {
    as_hooks_host {
        struct_size: size_of::<as_hooks_host>() as u32,
        flags: 0,
        user_data: give(host.clone()),
        context: Some(on_context),
        route: None,
        on_register: None,
        redact: None,
        audit: if audit { Some(on_audit) } else { None },
        log: None,
        destroy: Some(destroy::<Arc<Host>>),
    }
}

pub fn policy_table(host: &Arc<Host>, name: &str) -> as_hooks_policy {
    let policy = &host.policies[name];
    as_hooks_policy {
        struct_size: size_of::<as_hooks_policy>() as u32,
        flags: 0,
        user_data: give(Hooked { host: host.clone(), policy: name.to_string() }),
        on_discovery: if policy.on_discovery.is_some() { Some(on_discovery) } else { None },
        on_authorize: if policy.on_authorize.is_some() { Some(on_authorize) } else { None },
        on_invoke: if policy.on_invoke.is_some() { Some(on_invoke) } else { None },
        on_result: if policy.on_result.is_some() { Some(on_policy_result) } else { None },
        destroy: Some(destroy::<Hooked>),
    }
}

pub fn executor_table(host: &Arc<Host>) -> as_hooks_handler {
    as_hooks_handler {
        struct_size: size_of::<as_hooks_handler>() as u32,
        flags: 0,
        user_data: give(host.clone()),
        handler: Some(on_execute),
        destroy: Some(destroy::<Arc<Host>>),
    }
}

/// `name` must live until the table has been passed.
pub fn binding_table(host: &Arc<Host>, name: &str, site: Option<Site>, answers: Arc<Answers>) -> as_binding {
    as_binding {
        struct_size: size_of::<as_binding>() as u32,
        flags: 0,
        name: name.as_ptr(),
        name_len: name.len(),
        handler: if site.is_some() { Some(on_handler) } else { None },
        when: if answers.when.is_some() { Some(on_when) } else { None },
        precondition: if answers.precondition.is_some() { Some(on_precondition) } else { None },
        bind: if answers.bind.is_some() { Some(on_bind) } else { None },
        describe: if answers.describe.is_some() { Some(on_describe) } else { None },
        user_data: give(Binding { host: host.clone(), site, answers }),
        destroy: Some(destroy::<Binding>),
    }
}

pub fn event_table(host: &Arc<Host>) -> as_hooks_event {
    as_hooks_event {
        struct_size: size_of::<as_hooks_event>() as u32,
        flags: 0,
        user_data: give(host.clone()),
        on_event: Some(on_event),
        destroy: Some(destroy::<Arc<Host>>),
    }
}

/// The count is how often the result was reported.
pub fn result_table(host: &Arc<Host>, count: &Arc<AtomicUsize>) -> as_hooks_result {
    as_hooks_result {
        struct_size: size_of::<as_hooks_result>() as u32,
        flags: 0,
        user_data: give(Counted { host: host.clone(), count: count.clone() }),
        on_result: Some(on_result),
        destroy: Some(destroy::<Counted>),
    }
}

/* functions */

extern "C" fn on_context(user_data: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    with(user_data, |host: &Arc<Host>| match host.var("host") {
        Ok(context) => play::answer_json(reply, &context),
        Err(why) => play::fail_hook(host, reply, why),
    });
}

extern "C" fn on_audit(user_data: *mut c_void, text: *const u8, len: usize) {
    with(user_data, |host: &Arc<Host>| host.state().audit.push(document(text, len)));
}

extern "C" fn on_event(user_data: *mut c_void, text: *const u8, len: usize) {
    with(user_data, |host: &Arc<Host>| host.state().events.push(document(text, len)));
}

extern "C" fn on_result(user_data: *mut c_void, _: *const u8, _: usize) {
    with(user_data, |counted: &Counted| {
        counted.count.fetch_add(1, Ordering::SeqCst);
    });
}

extern "C" fn on_handler(
    user_data: *mut c_void,
    reply: as_reply,
    context: *const u8,
    context_len: usize,
    input: *const u8,
    input_len: usize,
) {
    with(user_data, |binding: &Binding| match &binding.site {
        Some(site) => {
            play::handle(&binding.host, site, reply, &document(context, context_len), bytes(input, input_len))
        }
        None => play::fail_hook(&binding.host, reply, "a handler ran that was never given".into()),
    });
}

extern "C" fn on_execute(
    user_data: *mut c_void,
    reply: as_reply,
    context: *const u8,
    context_len: usize,
    input: *const u8,
    input_len: usize,
) {
    with(user_data, |host: &Arc<Host>| {
        play::execute(host, reply, &document(context, context_len), bytes(input, input_len));
    });
}

extern "C" fn on_when(user_data: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    hook(user_data, reply, |answers| answers.when.as_ref());
}

extern "C" fn on_precondition(user_data: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    hook(user_data, reply, |answers| answers.precondition.as_ref());
}

extern "C" fn on_bind(user_data: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    hook(user_data, reply, |answers| answers.bind.as_ref());
}

extern "C" fn on_describe(user_data: *mut c_void, reply: as_reply, _: *const u8, _: usize) {
    hook(user_data, reply, |answers| answers.describe.as_ref());
}

fn hook(user_data: *mut c_void, reply: as_reply, pick: impl FnOnce(&Answers) -> Option<&Answer>) {
    with(user_data, |binding: &Binding| {
        play::give_answer(&binding.host, pick(&binding.answers), reply);
    });
}

extern "C" fn on_discovery(user_data: *mut c_void, reply: as_reply, context: *const u8, len: usize) {
    with(user_data, |hooked: &Hooked| {
        play::discover(&hooked.host, &hooked.policy, reply, document(context, len));
    });
}

extern "C" fn on_authorize(user_data: *mut c_void, reply: as_reply, context: *const u8, len: usize) {
    with(user_data, |hooked: &Hooked| {
        play::decide(&hooked.host, &hooked.policy, "onAuthorize", reply, document(context, len));
    });
}

extern "C" fn on_invoke(user_data: *mut c_void, reply: as_reply, context: *const u8, len: usize) {
    with(user_data, |hooked: &Hooked| {
        play::decide(&hooked.host, &hooked.policy, "onInvoke", reply, document(context, len));
    });
}

extern "C" fn on_policy_result(
    user_data: *mut c_void,
    reply: as_reply,
    context: *const u8,
    context_len: usize,
    result: *const u8,
    result_len: usize,
) {
    with(user_data, |hooked: &Hooked| {
        let context = document(context, context_len);
        play::review(&hooked.host, &hooked.policy, reply, context, document(result, result_len));
    });
}

extern "C" fn destroy<T>(user_data: *mut c_void) {
    // SAFETY: `give::<T>` made the pointer, and the library destroys each table exactly once, after its last call.
    drop(unsafe { Box::from_raw(user_data.cast::<T>()) });
}

/* pointers */

fn give<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

fn with<T: AsRef<Host>>(user_data: *mut c_void, work: impl FnOnce(&T)) {
    // SAFETY: `give::<T>` made the pointer, and no call of a table overlaps or follows its `destroy`.
    let value = unsafe { &*user_data.cast::<T>() };
    if catch_unwind(AssertUnwindSafe(|| work(value))).is_err() {
        value.as_ref().fail("the runner itself panicked in a callback".into());
    }
}

fn bytes<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the library passes a view that lives until the callback returns, and no caller keeps it longer.
    unsafe { std::slice::from_raw_parts(ptr, len) }
}

fn document(ptr: *const u8, len: usize) -> Json {
    let text = String::from_utf8_lossy(bytes(ptr, len));
    Json::parse(&text).unwrap_or_else(|why| Json::text(format!("not JSON: {why}: {text}")))
}
