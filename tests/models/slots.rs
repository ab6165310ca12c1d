//! Slots: taken, waited for, handed over.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::future::block_on;
use shuttle::thread;

use super::*;
use crate::sync::explore;

/// Four calls want the one place of `enter`, and one of them gives up while it waits. Each that stays has the place, alone.
fn one_at_a_time(limits: Limits, enter: fn(&Arc<Admission>, u64) -> Result<Slot, Full>) {
    explore(move || {
        let admission = Admission::new(&limits);
        let (inside, served) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let calls = [1, 2, 3].map(|call| {
            let (admission, inside, served) = (admission.clone(), inside.clone(), served.clone());
            thread::spawn(move || {
                let slot = enter(&admission, call).unwrap();
                block_on(poll_fn(|cx| slot.poll(cx)));
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                served.fetch_add(1, Ordering::SeqCst);
            })
        });
        let gone = admission.clone();
        let gives_up = thread::spawn(move || drop(enter(&gone, 4).unwrap()));
        for call in calls {
            call.join().unwrap();
        }
        gives_up.join().unwrap();
        assert_eq!(served.load(Ordering::SeqCst), 3);
        assert!(admission.state.lock().groups.is_empty());
    });
}

/// AS-CONC-001: a group of one.
#[test]
fn a_group_hands_its_place_over() {
    one_at_a_time(Limits::default(), |admission, call| admission.enter_group(GroupKey::Key("one".into()), 1, 10, call));
}

/// AS-OBS-001: a consumer's gate of one.
#[test]
fn a_gate_hands_its_place_over() {
    let limits = Limits { max_concurrent_observations_per_consumer: 1, ..Limits::default() };
    one_at_a_time(limits, |admission, call| admission.enter_gate(&"test:one".into(), call));
}

/// AS-OBS-003: the place of all, among consumers.
#[test]
fn a_gate_hands_its_place_to_another_consumer() {
    let limits = Limits { max_concurrent_observations_total: 1, ..Limits::default() };
    one_at_a_time(limits, |admission, call| admission.enter_gate(&format!("test:{}", call % 2).into(), call));
}
