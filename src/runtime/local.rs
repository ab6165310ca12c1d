//! What this thread is doing: the futures it has woken, the host code on its stack.
//!
//! A future is polled on the thread that woke it, when the outermost [`Scope`] on that thread's
//! stack ends. So a poll never runs under a lock, never inside another poll, and a call that the
//! host answers at once never changes threads.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_task::Runnable;

use super::desk::Desk;
use super::dispatch::Dispatcher;
use super::host::Serial;
use super::job::Job;
use super::pool::Pool;

/// Deepest nesting of host code that calls us that calls host code.
pub const MAX_FRAMES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A thread of the host.
    Host,
    Worker,
    /// The timer thread: it polls, and never runs host code.
    Timer,
}

/// Host code on the stack.
#[derive(Clone)]
pub struct Frame {
    pub dispatcher: Arc<Dispatcher>,
    /// The call it belongs to; 0 where there is none.
    pub call: u64,
    pub serial: Option<Arc<Serial>>,
    /// The hook must not look at the surface (`when`, `describe`, `on_discovery`).
    pub looking: bool,
}

struct Local {
    scopes: Cell<usize>,
    woken: RefCell<VecDeque<(Runnable, Arc<Dispatcher>)>>,
    /// Host code that runs here, at the end of the scope: hooks of a pull registry that cannot be deferred, and what
    /// returns at once.
    hooks: RefCell<VecDeque<Job>>,
    /// Where host code of the call that this thread is driving is kept, once it has driven one.
    desk: RefCell<Option<(Arc<Pool>, Arc<Desk>)>>,
    released: RefCell<Vec<Released>>,
    /// Registries that end, or go quiet, after the release that runs on this stack.
    ending: RefCell<Vec<Arc<Dispatcher>>>,
    frames: RefCell<Vec<Frame>>,
    driving: Cell<u64>,
    /// Something was not asked, since its table is taken on this stack.
    knotted: Cell<bool>,
    role: Cell<Option<Role>>,
}

/// What waits for the end of the scope: a release of the host's, or the end of what kept the
/// registry busy, or of the registry, which comes after what it released.
pub(super) enum Released {
    Destroy(Box<dyn FnOnce() + Send>),
    Done(Arc<Dispatcher>),
    Closed(Arc<Dispatcher>),
}

impl Released {
    pub(super) fn dispatcher(&self) -> Option<&Arc<Dispatcher>> {
        match self {
            Released::Destroy(_) => None,
            Released::Done(dispatcher) | Released::Closed(dispatcher) => Some(dispatcher),
        }
    }
}

crate::sync::thread_local! {
    /// Never destroyed: what runs as the thread or the process ends (`atexit`, destructors of other thread locals) may
    /// call us, too.
    static LOCAL: ManuallyDrop<Local> = const { ManuallyDrop::new(Local::new()) };
    static END: End = const { End };
}

/// Gives back, as the thread ends, what its [`Local`] has allocated.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let _ = LOCAL.try_with(|local| {
            local.woken.take();
            local.hooks.take();
            local.released.take();
            local.ending.take();
            local.frames.take();
            if let Some((pool, desk)) = local.desk.take() {
                pool.clear_away(&desk);
            }
        });
    }
}

impl Local {
    const fn new() -> Local {
        Local {
            scopes: Cell::new(0),
            woken: RefCell::new(VecDeque::new()),
            hooks: RefCell::new(VecDeque::new()),
            desk: RefCell::new(None),
            released: RefCell::new(Vec::new()),
            ending: RefCell::new(Vec::new()),
            frames: RefCell::new(Vec::new()),
            driving: Cell::new(0),
            knotted: Cell::new(false),
            role: Cell::new(None),
        }
    }
}

/// Open while library code is on the stack; see [`enter`].
pub struct Scope {
    _open: Open,
}

/// Opens a scope. When the outermost one of this stack frame ends, what was woken is polled and
/// what was released is destroyed.
pub fn enter() -> Scope {
    // Whether it is destroyed already does not matter.
    let _ = END.try_with(|_| ());
    Scope { _open: Open::new() }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // Not while a panic unwinds: what was woken stays for the next scope.
        if LOCAL.with(|local| local.scopes.get()) == 1 && !std::thread::panicking() {
            drain();
        }
    }
}

/// Counts as one scope, as long as it lives.
struct Open(());

impl Open {
    fn new() -> Open {
        LOCAL.with(|local| local.scopes.set(local.scopes.get() + 1));
        Open(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        LOCAL.with(|local| local.scopes.set(local.scopes.get() - 1));
    }
}

/// Runs `f` on this thread once no lock is held and no poll runs.
pub fn later(f: impl FnOnce() + Send + 'static) {
    let _scope = enter();
    LOCAL.with(|local| local.released.borrow_mut().push(Released::Destroy(Box::new(f))));
}

/// Ends `dispatcher`, after what it released is destroyed.
pub(super) fn closed(dispatcher: Arc<Dispatcher>) {
    let _scope = enter();
    LOCAL.with(|local| local.released.borrow_mut().push(Released::Closed(dispatcher)));
}

/// Ends what kept `dispatcher` busy, after what it released is destroyed.
pub(super) fn done(dispatcher: Arc<Dispatcher>) {
    let waits = LOCAL.with(|local| {
        let mut released = local.released.borrow_mut();
        if released.is_empty() {
            return Some(dispatcher);
        }
        released.push(Released::Done(dispatcher));
        None
    });
    if let Some(dispatcher) = waits {
        dispatcher.done();
    }
}

pub fn set_role(role: Role) {
    LOCAL.with(|local| local.role.set(Some(role)));
}

pub fn role() -> Role {
    LOCAL.with(|local| local.role.get().unwrap_or(Role::Host))
}

pub(super) fn wake(runnable: Runnable, dispatcher: Arc<Dispatcher>) {
    let _scope = enter();
    LOCAL.with(|local| local.woken.borrow_mut().push_back((runnable, dispatcher)));
}

pub(super) fn push_hook(job: Job) {
    let _scope = enter();
    LOCAL.with(|local| local.hooks.borrow_mut().push_back(job));
}

/// This thread's desk at `pool`.
pub(super) fn desk(pool: &Arc<Pool>) -> Arc<Desk> {
    LOCAL.with(|local| {
        let mut place = local.desk.borrow_mut();
        match &*place {
            Some((own, desk)) if Arc::ptr_eq(own, pool) => desk.clone(),
            _ => place.insert((pool.clone(), pool.set_up())).1.clone(),
        }
    })
}

/// Keeps `job` on this thread when the thread is driving its call.
pub(super) fn keep_own(job: Job) -> Option<Job> {
    if job.call == 0 || LOCAL.with(|local| local.driving.get()) != job.call {
        return Some(job);
    }
    let pool = job.dispatcher.pool.clone();
    desk(&pool).keep(job);
    // Should this thread not come round to it, another one will.
    pool.watch();
    None
}

/// The next host code of `call` that was kept for this thread.
pub fn take_own(call: u64) -> Option<Job> {
    let desk = LOCAL.with(|local| local.desk.borrow().as_ref().map(|(_, desk)| desk.clone()))?;
    desk.take(call)
}

/// Marks this thread as driving `call` while the result lives.
pub struct Driving {
    before: u64,
}

pub fn drive(call: u64) -> Driving {
    LOCAL.with(|local| Driving { before: local.driving.replace(call) })
}

impl Drop for Driving {
    fn drop(&mut self) {
        LOCAL.with(|local| local.driving.set(self.before));
    }
}

/// Polls what was woken on this thread and destroys what was released, until nothing is left. For
/// threads that are about to wait; a [`Scope`] does it when it ends.
pub fn drain() {
    // Open meanwhile, so that what a poll wakes waits for its turn in this loop.
    let _open = Open::new();
    loop {
        let woken = LOCAL.with(|local| local.woken.borrow_mut().pop_front());
        if let Some((runnable, dispatcher)) = woken {
            runnable.run();
            done(dispatcher);
            continue;
        }
        let hook = LOCAL.with(|local| local.hooks.borrow_mut().pop_front());
        if let Some(job) = hook {
            job.run();
            continue;
        }
        let released = LOCAL.with(|local| std::mem::take(&mut *local.released.borrow_mut()));
        if released.is_empty() {
            return;
        }
        match role() {
            // A destroy is host code, and the timer thread runs none.
            Role::Timer => super::pool::release_on_worker(released),
            _ => release(released),
        }
    }
}

/// Runs what was released, in order.
pub(super) fn release(released: Vec<Released>) {
    let before = LOCAL.with(|local| {
        let mut ending = local.ending.borrow_mut();
        let before = ending.len();
        ending.extend(released.iter().filter_map(Released::dispatcher).cloned());
        before
    });
    for released in released {
        match released {
            Released::Destroy(destroy) => host_code(None, destroy),
            Released::Done(dispatcher) => dispatcher.done(),
            Released::Closed(dispatcher) => dispatcher.closed(),
        }
    }
    LOCAL.with(|local| local.ending.borrow_mut().truncate(before));
}

/// Runs host code: whatever it calls of ours starts with a stack frame of its own. Host code that
/// panics has returned.
pub fn host_code(frame: Option<Frame>, f: impl FnOnce()) {
    let pushed = frame.is_some();
    let scopes = LOCAL.with(|local| {
        local.frames.borrow_mut().extend(frame);
        local.scopes.replace(0)
    });
    let _ = catch_unwind(AssertUnwindSafe(f));
    LOCAL.with(|local| {
        local.scopes.set(scopes);
        if pushed {
            local.frames.borrow_mut().pop();
        }
    });
}

/// Calls whose host code is on this thread's stack, outermost first.
pub fn stacked_calls(dispatcher: &Arc<Dispatcher>) -> Vec<u64> {
    LOCAL.with(|local| {
        let frames = local.frames.borrow();
        frames.iter().filter(|f| Arc::ptr_eq(&f.dispatcher, dispatcher) && f.call != 0).map(|f| f.call).collect()
    })
}

/// Registries that wait for host code on this thread's stack.
pub(super) fn around() -> Vec<Arc<Dispatcher>> {
    LOCAL.with(|local| {
        let frames = local.frames.borrow();
        frames.iter().map(|frame| frame.dispatcher.clone()).chain(local.ending.borrow().iter().cloned()).collect()
    })
}

/// Whether a hook that must not look at the surface is on this thread's stack.
pub fn looking(dispatcher: &Arc<Dispatcher>) -> bool {
    any_frame(|frame| frame.looking && Arc::ptr_eq(&frame.dispatcher, dispatcher))
}

/// Whether host code of `call` waits for a table that is taken by host code on this stack.
pub fn keeps_waiting(dispatcher: &Arc<Dispatcher>, call: u64) -> bool {
    any_frame(|frame| frame.serial.as_ref().is_some_and(|held| held.keeps_waiting(dispatcher, call)))
}

pub fn holds_serial(serial: &Arc<Serial>) -> bool {
    any_frame(|frame| frame.serial.as_ref().is_some_and(|held| Arc::ptr_eq(held, serial)))
}

/// Notes that this thread holds the table that it would have to wait for.
pub(super) fn knot() {
    LOCAL.with(|local| local.knotted.set(true));
}

/// Runs `f`, and tells whether something was not asked in it since its table is taken on this stack.
pub fn knots<R>(f: impl FnOnce() -> R) -> (R, bool) {
    let before = LOCAL.with(|local| local.knotted.replace(false));
    let result = f();
    (result, LOCAL.with(|local| local.knotted.replace(before)))
}

pub fn depth() -> usize {
    LOCAL.with(|local| local.frames.borrow().len())
}

fn any_frame(test: impl Fn(&Frame) -> bool) -> bool {
    LOCAL.with(|local| local.frames.borrow().iter().any(test))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::pool::Pool;
    use super::super::task;
    use super::*;

    /// Also on a thread that is about to wait inside host code, a future that another one wakes has its turn
    /// after that one's poll, not inside it.
    #[test]
    fn no_poll_runs_inside_another() {
        let dispatcher = Dispatcher::new(Pool::get(None).unwrap().0, false, 1000);
        let order = Arc::new(Mutex::new(Vec::new()));
        let (outer, seen) = (dispatcher.clone(), order.clone());
        let _scope = enter();
        task::spawn(&dispatcher, async move {
            let inner = seen.clone();
            task::spawn(&outer, async move { inner.lock().unwrap().push("inner") });
            seen.lock().unwrap().push("outer");
        });
        host_code(None, drain);
        assert_eq!(*order.lock().unwrap(), ["outer", "inner"]);
    }
}
