//! Starts a future and polls it where it is woken.

use std::future::Future;
use std::sync::Arc;

use super::dispatch::Dispatcher;
use super::local;

/// Starts `future` on this thread: its first poll happens when the scope ends.
pub fn spawn(dispatcher: &Arc<Dispatcher>, future: impl Future<Output = ()> + Send + 'static) {
    let dispatcher = dispatcher.clone();
    let schedule = move |runnable| {
        dispatcher.begin();
        local::wake(runnable, dispatcher.clone());
    };
    let (runnable, task) = async_task::spawn(future, schedule);
    task.detach();
    runnable.schedule();
}
