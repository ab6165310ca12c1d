//! Host functions as the runtime calls them: a pointer, the data it wants, and the table that keeps both alive.

use super::reply;
use super::table::{Owner, Passed, PassedArray, UserData};
use super::text::Text;
use super::types::*;
use crate::model::{ApiError, Code};
use crate::runtime::{Hook, HostFn, Reply, Serial};
use crate::surface::{Binding, HostHooks, PolicyHooks};
use std::ffi::c_void;
use std::sync::Arc;

/// A host function of one of the four shapes.
trait Shape: Copy + Send + Sync + 'static {
    /// # Safety
    /// The function is the host's, and `user_data` is what stood beside it.
    unsafe fn call(self, user_data: UserData, reply: as_reply, context: &[u8], extra: &[u8]);
}

/// `as_fn_hook`.
impl Shape for unsafe extern "C" fn(*mut c_void, as_reply, *const u8, usize) {
    unsafe fn call(self, user_data: UserData, reply: as_reply, context: &[u8], _: &[u8]) {
        // SAFETY: passed on from the caller; the view outlives the call.
        unsafe { self(user_data.get(), reply, view(context), context.len()) }
    }
}

/// `as_fn_handler` and `as_fn_result_hook`.
impl Shape for unsafe extern "C" fn(*mut c_void, as_reply, *const u8, usize, *const u8, usize) {
    unsafe fn call(self, user_data: UserData, reply: as_reply, context: &[u8], extra: &[u8]) {
        // SAFETY: passed on from the caller; the views outlive the call.
        unsafe { self(user_data.get(), reply, view(context), context.len(), view(extra), extra.len()) }
    }
}

/// `as_fn_text`.
impl Shape for unsafe extern "C" fn(*mut c_void, *const u8, usize) {
    unsafe fn call(self, user_data: UserData, _: as_reply, text: &[u8], _: &[u8]) {
        // SAFETY: passed on from the caller; the view outlives the call.
        unsafe { self(user_data.get(), view(text), text.len()) }
    }
}

/// `as_fn_notify`.
impl Shape for unsafe extern "C" fn(*mut c_void) {
    unsafe fn call(self, user_data: UserData, _: as_reply, _: &[u8], _: &[u8]) {
        // SAFETY: passed on from the caller.
        unsafe { self(user_data.get()) }
    }
}

/// Never NULL and never dangling, also where it is empty: hosts copy from it before they look at the length.
fn view(bytes: &[u8]) -> *const u8 {
    if bytes.is_empty() { c"".as_ptr().cast() } else { bytes.as_ptr() }
}

struct Callback<F> {
    owner: Arc<Owner>,
    function: F,
}

impl<F: Shape> HostFn for Callback<F> {
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], extra: &[u8]) {
        let handle = reply.map_or(0, reply::name);
        // SAFETY: function and data stood in one table, whose `destroy` waits for `owner`.
        unsafe { self.function.call(self.owner.user_data, handle, context, extra) }
    }

    fn serial(&self) -> Option<&Arc<Serial>> {
        self.owner.serial.as_ref()
    }

    fn inline(&self) -> bool {
        self.owner.inline
    }
}

fn hook<F: Shape>(owner: &Arc<Owner>, function: Option<F>) -> Option<Hook> {
    function.map(|function| Arc::new(Callback { owner: owner.clone(), function }) as Hook)
}

fn required(table: &str, member: &str, hook: Option<Hook>) -> Result<Hook, ApiError> {
    hook.ok_or_else(|| ApiError::new(Code::Argument, format!("`{table}`: `{member}` is NULL.")))
}

/// Every function below takes its table over first. Errors: `AS_E_ARGUMENT`.
impl Passed<as_hooks_host> {
    pub(super) fn host(self) -> Result<HostHooks, ApiError> {
        let Some((table, owner)) = self.take()? else { return Ok(HostHooks::default()) };
        Ok(HostHooks {
            context: hook(&owner, table.context),
            route: hook(&owner, table.route),
            on_register: hook(&owner, table.on_register),
            redact: hook(&owner, table.redact),
            audit: hook(&owner, table.audit),
            log: hook(&owner, table.log),
        })
    }
}

impl Passed<as_hooks_policy> {
    pub(super) fn policy(self) -> Result<PolicyHooks, ApiError> {
        let (table, owner) = self.take_required()?;
        Ok(PolicyHooks {
            on_discovery: hook(&owner, table.on_discovery),
            on_authorize: hook(&owner, table.on_authorize),
            on_invoke: hook(&owner, table.on_invoke),
            on_result: hook(&owner, table.on_result),
        })
    }
}

impl Passed<as_hooks_handler> {
    pub(super) fn handler(self) -> Result<Hook, ApiError> {
        let (table, owner) = self.take_required()?;
        required("hooks", "handler", hook(&owner, table.handler))
    }
}

impl Passed<as_hooks_result> {
    pub(super) fn on_result(self) -> Result<Option<Hook>, ApiError> {
        Ok(self.take()?.and_then(|(table, owner)| hook(&owner, table.on_result)))
    }
}

impl Passed<as_hooks_event> {
    pub(super) fn on_event(self) -> Result<Hook, ApiError> {
        let (table, owner) = self.take_required()?;
        required("hooks", "on_event", hook(&owner, table.on_event))
    }
}

impl Passed<as_hooks_notify> {
    pub(super) fn notify(self) -> Result<Hook, ApiError> {
        let (table, owner) = self.take_required()?;
        required("hooks", "notify", hook(&owner, table.notify))
    }
}

impl PassedArray<as_binding> {
    pub(super) fn bindings(self) -> Result<Vec<Binding>, ApiError> {
        self.take()?.into_iter().map(|(table, owner)| binding(&table, &owner)).collect()
    }
}

fn binding(table: &as_binding, owner: &Arc<Owner>) -> Result<Binding, ApiError> {
    // SAFETY: part of the table, so good for reading while the function it was passed to runs.
    let name = unsafe { Text::new("name", table.name, table.name_len) };
    Ok(Binding {
        name: name.str()?.to_owned(),
        handler: hook(owner, table.handler),
        when: hook(owner, table.when),
        precondition: hook(owner, table.precondition),
        bind: hook(owner, table.bind),
        describe: hook(owner, table.describe),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::mem::size_of;
    use std::{ptr, slice};

    type Call = (as_reply, Vec<u8>, Vec<u8>);

    thread_local! {
        static SEEN: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
    }

    unsafe extern "C" fn see(
        user_data: *mut c_void,
        reply: as_reply,
        a: *const u8,
        a_len: usize,
        b: *const u8,
        b_len: usize,
    ) {
        assert_eq!(user_data as usize, 7);
        // SAFETY: the views of the call.
        let (a, b) = unsafe { (slice::from_raw_parts(a, a_len).to_vec(), slice::from_raw_parts(b, b_len).to_vec()) };
        SEEN.with_borrow_mut(|seen| seen.push((reply, a, b)));
    }

    fn table(handler: as_fn_handler, flags: u32) -> as_hooks_handler {
        let struct_size = size_of::<as_hooks_handler>() as u32;
        as_hooks_handler { struct_size, flags, user_data: ptr::without_provenance_mut(7), handler, destroy: None }
    }

    fn passed(table: &as_hooks_handler) -> Passed<as_hooks_handler> {
        // SAFETY: a whole table.
        unsafe { Passed::new("hooks", table) }
    }

    #[test]
    fn a_callback_gets_its_data_and_views_that_are_never_null() {
        assert!(!view(&[]).is_null());
        let hook = passed(&table(Some(see), 0)).handler().unwrap();
        hook.call(None, b"{}", b"");
        let seen = SEEN.with_borrow(Vec::clone);
        assert_eq!(seen, [(0, b"{}".to_vec(), Vec::new())]);
        assert!(hook.serial().is_none());
    }

    /// The queue is the table's, so that its functions share it.
    #[test]
    fn a_serial_table_has_one_queue() {
        let hook = passed(&table(Some(see), AS_SERIAL)).handler().unwrap();
        assert!(hook.serial().is_some());
    }

    #[test]
    fn a_function_that_must_be_there_is_missed_by_name() {
        let refused = passed(&table(None, 0)).handler().err().unwrap();
        assert_eq!((refused.code, refused.message.as_str()), (Code::Argument, "`hooks`: `handler` is NULL."));
    }
}
