//! Who waits until a registry is quiet or closed, and what is fetched of a pull registry.

use shuttle::thread;

use super::*;
use crate::runtime::host::{Hook, HostFn};
use crate::runtime::job::Label;
use crate::runtime::pull::Taken;
use crate::runtime::reply::Reply;
use crate::sync::explore;

struct Nobody;

impl HostFn for Nobody {
    fn call(&self, _: Option<&Arc<Reply>>, _: &[u8], _: &[u8]) {}
}

fn dispatcher() -> Arc<Dispatcher> {
    Dispatcher::new(Arc::new(Pool::new(Default::default())), true, 1000)
}

fn job(dispatcher: &Arc<Dispatcher>) -> Job {
    let label = Label { what: "event", name: "event".into(), phase: None };
    Job::new(dispatcher, Arc::new(Nobody) as Hook, label, Vec::new())
}

/// Two threads wait for quiet while something begins and ends: both are told.
#[test]
fn everybody_who_waits_for_quiet_is_told() {
    explore(|| {
        let dispatcher = dispatcher();
        let watchers = [dispatcher.clone(), dispatcher.clone()]
            .map(|dispatcher| thread::spawn(move || assert_eq!(dispatcher.wait_quiet(Patience::new(-1)), Some(true))));
        for _ in 0..2 {
            drop(dispatcher.hold());
        }
        for watcher in watchers {
            watcher.join().unwrap();
        }
    });
}

/// Closing while the last host code returns, and somebody waits for quiet: what is due at last is done once.
#[test]
fn the_end_comes_once() {
    explore(|| {
        let (dispatcher, ends) = (dispatcher(), Arc::new(AtomicUsize::new(0)));
        let busy = dispatcher.hold();
        let runs = thread::spawn(move || drop(busy));
        let watched = dispatcher.clone();
        let watches = thread::spawn(move || watched.wait_quiet(Patience::new(-1)));
        let counted = ends.clone();
        dispatcher.at_last(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(dispatcher.wait_closed(Patience::new(-1)), Some(true));
        assert_eq!(ends.load(Ordering::SeqCst), 1);
        runs.join().unwrap();
        assert_eq!(watches.join().unwrap(), Some(true));
    });
}

/// Two pumps: what is pushed is fetched once, and both learn of the end.
#[test]
fn two_pumps_fetch_everything() {
    explore(|| {
        let dispatcher = dispatcher();
        let pumps = [dispatcher.clone(), dispatcher.clone()].map(|dispatcher| {
            thread::spawn(move || {
                let mut fetched = 0;
                loop {
                    match dispatcher.pull.as_ref().unwrap().take(Patience::new(-1)) {
                        Taken::Job(_) => fetched += 1,
                        Taken::Closed => return fetched,
                        Taken::Document(_) | Taken::Nothing => unreachable!("nothing of the kind was pushed"),
                    }
                }
            })
        });
        for _ in 0..3 {
            dispatcher.submit(job(&dispatcher));
        }
        dispatcher.pull.as_ref().unwrap().end();
        assert_eq!(pumps.map(|pump| pump.join().unwrap()).iter().sum::<i32>(), 3);
    });
}
