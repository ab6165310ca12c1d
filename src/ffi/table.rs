//! Callback tables: reading what a host passed, and owning it.
//!
//! Each passing of a table is one ownership. The [`Owner`] is built before anything that can fail is looked at, so
//! that `destroy` runs exactly once on every way out; the callbacks made of the table share it.
//!
//! **struct_size.** A table says how long it is. Less than ABI 1 had, or more than [`MAX_SIZE`], is no table at all:
//! nothing of it is read, and it stays the caller's. Longer than this library knows is a table of a newer header; what
//! is beyond must be zero, since a hook that this library would never call must not be silently lost.

use super::process::{self, Process};
use super::types::*;
use crate::model::{ApiError, Code};
use crate::runtime::{self, Serial};
use std::ffi::c_void;
use std::mem::size_of;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// No table will ever be longer, in bytes.
const MAX_SIZE: usize = 4096;

pub(super) const TABLE_KINDS: usize = TABLE_NAMES.len();

/// In the order of [`TableKind`].
pub(super) const TABLE_NAMES: [&str; 7] = ["host", "policy", "handler", "binding", "result", "event", "notify"];

#[derive(Clone, Copy)]
pub(super) enum TableKind {
    Host,
    Policy,
    Handler,
    Binding,
    Result,
    Event,
    Notify,
}

/// A struct of callbacks as C declares it.
///
/// # Safety
/// The type is `repr(C)`, begins with `struct_size`, and has the size that ABI 1 froze.
pub(super) unsafe trait Table: Copy {
    const KIND: TableKind;
    fn flags(&self) -> u32;
    fn user_data(&self) -> *mut c_void;
    fn destroy(&self) -> as_fn_destroy;
}

macro_rules! tables {
    ($($table:ident $kind:ident)*) => {$(
        // SAFETY: declared so in types.rs, whose layouts a test freezes.
        unsafe impl Table for $table {
            const KIND: TableKind = TableKind::$kind;
            fn flags(&self) -> u32 { self.flags }
            fn user_data(&self) -> *mut c_void { self.user_data }
            fn destroy(&self) -> as_fn_destroy { self.destroy }
        }
    )*};
}

tables! {
    as_hooks_host Host
    as_hooks_policy Policy
    as_hooks_handler Handler
    as_binding Binding
    as_hooks_result Result
    as_hooks_event Event
    as_hooks_notify Notify
}

/// The host's own data, which only the host's functions look at.
#[derive(Clone, Copy)]
pub(super) struct UserData(*mut c_void);

// SAFETY: the library never reads through the pointer; the contract says that callbacks come on any thread, at the same
// time unless AS_SERIAL asks otherwise, so what it points to is made for that.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    pub(super) fn get(self) -> *mut c_void {
        self.0
    }
}

/// One passing of a table. Dropped when the last callback made of it is.
pub(super) struct Owner {
    pub(super) user_data: UserData,
    pub(super) serial: Option<Arc<Serial>>,
    pub(super) inline: bool,
    destroy: as_fn_destroy,
    kind: TableKind,
    process: &'static Process,
}

impl Owner {
    fn new<T: Table>(table: &T) -> Arc<Owner> {
        let process = process::here();
        process.tables[T::KIND as usize].fetch_add(1, Ordering::Relaxed);
        Arc::new(Owner {
            user_data: UserData(table.user_data()),
            serial: (table.flags() & AS_SERIAL != 0).then(Serial::new),
            inline: table.flags() & AS_INLINE != 0,
            destroy: table.destroy(),
            kind: T::KIND,
            process,
        })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let (user_data, destroy, live) = (self.user_data, self.destroy, &self.process.tables[self.kind as usize]);
        // Put off: whoever drops the last callback may hold a lock, and host code never runs under one.
        runtime::later(move || {
            if let Some(destroy) = destroy {
                // SAFETY: the host's own function and data, once, after the last call.
                unsafe { destroy(user_data.get()) };
            }
            live.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// A table that a host passes, not read yet. `name` is the parameter's, for messages.
pub(super) struct Passed<T> {
    name: &'static str,
    at: *const T,
}

impl<T: Table> Passed<T> {
    /// # Safety
    /// `at` is NULL, or good for reading the bytes that its `struct_size` says, until `take` has returned.
    pub(super) unsafe fn new(name: &'static str, at: *const T) -> Passed<T> {
        Passed { name, at }
    }

    /// Takes the table over, and only then judges it. `None` for NULL. Errors: `AS_E_ARGUMENT`.
    pub(super) fn take(self) -> Result<Option<(T, Arc<Owner>)>, ApiError> {
        if self.at.is_null() {
            return Ok(None);
        }
        // SAFETY: not NULL, so good for reading, as promised to `new`.
        unsafe { take_at(self.at, size_at(self.at)) }
            .map(Some)
            .map_err(|what| argument(format!("`{}`: {what}.", self.name)))
    }

    /// Takes the table over where there must be one. Errors: `AS_E_ARGUMENT`.
    pub(super) fn take_required(self) -> Result<(T, Arc<Owner>), ApiError> {
        let name = self.name;
        self.take()?.ok_or_else(|| argument(format!("`{name}` is NULL.")))
    }
}

/// An array of tables that a host passes. The `struct_size` of the first is the distance between two.
pub(super) struct PassedArray<T> {
    name: &'static str,
    at: *const T,
    count: usize,
}

impl<T: Table> PassedArray<T> {
    /// # Safety
    /// `at` is good for reading `count` tables of the size that the first says, until `take` has returned; NULL is
    /// allowed.
    pub(super) unsafe fn new(name: &'static str, at: *const T, count: usize) -> PassedArray<T> {
        PassedArray { name, at, count }
    }

    /// Takes every table over that can be read, whatever is wrong with the others. Errors: `AS_E_ARGUMENT`.
    pub(super) fn take(self) -> Result<Vec<(T, Arc<Owner>)>, ApiError> {
        let PassedArray { name, at, count } = self;
        if count == 0 {
            return Ok(Vec::new());
        }
        if at.is_null() {
            return Err(argument(format!("`{name}` is NULL, but its count is not 0.")));
        }
        // SAFETY: not NULL, so good for reading the first table, as promised to `new`.
        let stride = unsafe { size_at(at) };
        if stride.checked_mul(count).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(argument(format!("`{name}` is longer than any memory.")));
        }
        let mut taken = Vec::new();
        let mut refused = None;
        for index in 0..count {
            // SAFETY: within the array, whose length in bytes fits, as promised to `new`.
            let table = unsafe { take_at(at.byte_add(index * stride), stride) };
            match table {
                Ok(table) => taken.push(table),
                Err(what) => {
                    refused.get_or_insert_with(|| argument(format!("`{name}[{index}]`: {what}.")));
                    if !is_table::<T>(stride) {
                        break;
                    }
                }
            }
        }
        refused.map_or(Ok(taken), Err)
    }
}

fn argument(message: String) -> ApiError {
    ApiError::new(Code::Argument, message)
}

fn is_table<T>(size: usize) -> bool {
    (size_of::<T>()..=MAX_SIZE).contains(&size)
}

/// # Safety
/// `at` is good for reading a `u32`.
unsafe fn size_at<T: Table>(at: *const T) -> usize {
    // SAFETY: every table begins with its size; packed structs of other languages may be unaligned.
    unsafe { at.cast::<u32>().read_unaligned() as usize }
}

/// The table at `at`, which must say that it has `size` bytes. The error says what is wrong with it.
///
/// # Safety
/// `at` is good for reading the bytes that its `struct_size` says.
unsafe fn take_at<T: Table>(at: *const T, size: usize) -> Result<(T, Arc<Owner>), String> {
    let known = size_of::<T>();
    // SAFETY: as promised by the caller.
    let says = unsafe { size_at(at) };
    if !is_table::<T>(says) {
        return Err(format!("struct_size is {says}, not {known} or somewhat more"));
    }
    if says != size {
        return Err(format!("struct_size is {says}, but {size} before it"));
    }
    // SAFETY: `struct_size` covers the whole struct; any bits make a valid one but for NULL functions, which are None.
    let table = unsafe { at.read_unaligned() };
    let owner = Owner::new(&table);
    // SAFETY: `struct_size` covers these bytes too.
    let beyond = unsafe { slice::from_raw_parts(at.cast::<u8>().add(known), size - known) };
    if beyond.iter().any(|&byte| byte != 0) {
        return Err(format!("something stands beyond byte {known}, where this library knows nothing"));
    }
    if table.flags() & !(AS_SERIAL | AS_INLINE) != 0 {
        return Err("flags holds one that is unknown".to_owned());
    }
    Ok((table, owner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;
    use std::ptr;
    use std::sync::atomic::AtomicUsize;

    /// `user_data` of every table here: how often `destroy` has run.
    struct Destroyed(Box<AtomicUsize>);

    impl Destroyed {
        fn never() -> Destroyed {
            Destroyed(Box::default())
        }
        fn times(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
        fn table(&self) -> as_hooks_event {
            as_hooks_event {
                struct_size: size_of::<as_hooks_event>() as u32,
                flags: 0,
                user_data: ptr::from_ref(&*self.0).cast_mut().cast(),
                on_event: None,
                destroy: Some(count),
            }
        }
    }

    unsafe extern "C" fn count(user_data: *mut c_void) {
        // SAFETY: every table here has a counter that outlives it.
        unsafe { &*user_data.cast::<AtomicUsize>() }.fetch_add(1, Ordering::SeqCst);
    }

    fn take(table: &as_hooks_event) -> Result<Option<(as_hooks_event, Arc<Owner>)>, ApiError> {
        // SAFETY: a whole table, or one that says less than it has.
        unsafe { Passed::new("hooks", table) }.take()
    }

    fn refusal<T>(answer: Result<T, ApiError>) -> String {
        let error = answer.err().unwrap();
        assert_eq!(error.code, Code::Argument);
        error.message
    }

    /// A table with a tail, as a newer header would declare it.
    #[repr(C)]
    struct Longer {
        table: as_hooks_event,
        tail: u64,
    }

    fn longer(destroyed: &Destroyed, tail: u64) -> Longer {
        let mut table = destroyed.table();
        table.struct_size = size_of::<Longer>() as u32;
        Longer { table, tail }
    }

    #[test]
    fn destroy_waits_for_the_last_user_and_runs_once() {
        let destroyed = Destroyed::never();
        let (_, owner) = take(&destroyed.table()).unwrap().unwrap();
        let other = owner.clone();
        drop(owner);
        assert_eq!(destroyed.times(), 0);
        drop(other);
        assert_eq!(destroyed.times(), 1);
    }

    #[test]
    fn each_passing_is_one_ownership() {
        let destroyed = Destroyed::never();
        let table = destroyed.table();
        drop(take(&table));
        drop(take(&table));
        assert_eq!(destroyed.times(), 2);
    }

    /// While library code is on the stack a lock may be held, so host code waits.
    #[test]
    fn destroy_is_put_off_to_the_end_of_the_scope() {
        let destroyed = Destroyed::never();
        let scope = runtime::enter();
        drop(take(&destroyed.table()));
        assert_eq!(destroyed.times(), 0);
        drop(scope);
        assert_eq!(destroyed.times(), 1);
    }

    #[test]
    fn a_refused_table_is_destroyed_all_the_same() {
        let destroyed = Destroyed::never();
        let flagged = as_hooks_event { flags: 2, ..destroyed.table() };
        assert_eq!(refusal(take(&flagged)), "`hooks`: flags holds one that is unknown.");
        assert_eq!(destroyed.times(), 1);

        let unknown = ManuallyDrop::new(longer(&destroyed, 1));
        // SAFETY: `struct_size` is the size of the whole.
        let answer = unsafe { Passed::new("hooks", ptr::from_ref(&*unknown).cast::<as_hooks_event>()) }.take();
        assert_eq!(refusal(answer), "`hooks`: something stands beyond byte 32, where this library knows nothing.");
        assert_eq!((destroyed.times(), unknown.tail), (2, 1));
    }

    #[test]
    fn a_longer_table_is_fine_when_it_says_nothing_new() {
        let destroyed = Destroyed::never();
        let newer = longer(&destroyed, 0);
        // SAFETY: `struct_size` is the size of the whole.
        assert!(unsafe { Passed::new("hooks", ptr::from_ref(&newer).cast::<as_hooks_event>()) }.take().is_ok());
        assert_eq!((destroyed.times(), newer.tail), (1, 0));
    }

    #[test]
    fn what_is_no_table_is_not_read_and_stays_the_callers() {
        let destroyed = Destroyed::never();
        for size in [0, 4, 31, 4097, u32::MAX] {
            let table = as_hooks_event { struct_size: size, ..destroyed.table() };
            assert_eq!(refusal(take(&table)), format!("`hooks`: struct_size is {size}, not 32 or somewhat more."));
        }
        assert_eq!(destroyed.times(), 0);
    }

    #[test]
    fn null_is_no_table() {
        // SAFETY: NULL is allowed.
        let passed = || unsafe { Passed::<as_hooks_event>::new("hooks", ptr::null()) };
        assert!(passed().take().unwrap().is_none());
        assert_eq!(refusal(passed().take_required()), "`hooks` is NULL.");
    }

    #[test]
    fn a_table_may_have_no_destroy_and_no_alignment() {
        let table = as_hooks_event { destroy: None, ..Destroyed::never().table() };
        assert!(take(&table).unwrap().is_some());

        let destroyed = Destroyed::never();
        let mut bytes = [0u8; size_of::<as_hooks_event>() + 1];
        // SAFETY: the destination is within `bytes`, and nothing else refers to it.
        unsafe { bytes.as_mut_ptr().add(1).cast::<as_hooks_event>().write_unaligned(destroyed.table()) };
        // SAFETY: a whole table, only not aligned.
        assert!(unsafe { Passed::new("hooks", bytes.as_ptr().add(1).cast::<as_hooks_event>()) }.take().is_ok());
        assert_eq!(destroyed.times(), 1);
    }

    fn take_array(tables: &[as_hooks_event]) -> Result<Vec<(as_hooks_event, Arc<Owner>)>, ApiError> {
        // SAFETY: a whole array of tables.
        unsafe { PassedArray::new("bindings", tables.as_ptr(), tables.len()) }.take()
    }

    #[test]
    fn an_array_with_one_bad_table_destroys_every_table() {
        let destroyed = Destroyed::never();
        let (good, bad) = (destroyed.table(), as_hooks_event { flags: 4, ..destroyed.table() });
        assert_eq!(take_array(&[good, good]).unwrap().len(), 2);
        assert_eq!(destroyed.times(), 2);
        assert_eq!(refusal(take_array(&[good, bad, good])), "`bindings[1]`: flags holds one that is unknown.");
        assert_eq!(destroyed.times(), 5);
        let short = as_hooks_event { struct_size: 8, ..destroyed.table() };
        assert_eq!(
            refusal(take_array(&[good, short, good])),
            "`bindings[1]`: struct_size is 8, not 32 or somewhat more."
        );
        assert_eq!(destroyed.times(), 7, "all but the one that is no table");
        let other = as_hooks_event { struct_size: 40, ..destroyed.table() };
        assert_eq!(refusal(take_array(&[good, other])), "`bindings[1]`: struct_size is 40, but 32 before it.");
        assert_eq!(destroyed.times(), 8);
    }

    #[test]
    fn an_array_that_cannot_be_is_not_walked() {
        let destroyed = Destroyed::never();
        let short = as_hooks_event { struct_size: 0, ..destroyed.table() };
        let message = "`bindings[0]`: struct_size is 0, not 32 or somewhat more.";
        assert_eq!(refusal(take_array(&[short, destroyed.table()])), message);
        let one = destroyed.table();
        // SAFETY: refused before anything but the first size is read.
        let endless = unsafe { PassedArray::new("bindings", &one, usize::MAX) }.take();
        assert_eq!(refusal(endless), "`bindings` is longer than any memory.");
        assert_eq!(destroyed.times(), 0);
        // SAFETY: NULL is allowed.
        let null = |count| unsafe { PassedArray::<as_hooks_event>::new("bindings", ptr::null(), count) }.take();
        assert!(null(0).unwrap().is_empty());
        assert_eq!(refusal(null(1)), "`bindings` is NULL, but its count is not 0.");
    }
}
