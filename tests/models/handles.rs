//! The table of handles.

use std::sync::Arc;

use shuttle::thread;

use super::*;
use crate::sync::explore;

struct Thing(Arc<u32>);

impl Item for Thing {
    type Found = Arc<u32>;
    const KIND: Kind = Kind::Reply;
    fn handles(_: &Process) -> &Handles<Self> {
        unreachable!("the models hold their own tables")
    }
    fn found(&self) -> Option<Arc<u32>> {
        Some(self.0.clone())
    }
}

fn insert(table: &Handles<Thing>, number: u32) -> u64 {
    table.reserve().map(|place| place.fill(Thing(Arc::new(number)))).ok().unwrap()
}

/// Two threads free a handle, one looks it up, one is given a new one, perhaps in its place.
#[test]
fn a_handle_is_freed_once_and_never_stands_for_another() {
    explore(|| {
        let table = Arc::new(Handles::<Thing>::new(0));
        let handle = insert(&table, 1);
        let frees = [table.clone(), table.clone()].map(|table| thread::spawn(move || table.remove(handle).is_ok()));
        let seen = table.clone();
        let look = thread::spawn(move || match seen.find(handle) {
            Ok(found) => assert_eq!(*found, 1),
            Err(error) => assert_eq!(error.code, Code::StaleHandle),
        });
        let mine = table.clone();
        let newcomer = thread::spawn(move || {
            let other = insert(&mine, 2);
            assert_eq!(mine.find(other).map(|found| *found).ok(), Some(2));
            other
        });
        let freed = frees.map(|free| free.join().unwrap());
        assert_eq!(freed.iter().filter(|freed| **freed).count(), 1, "freed so often");
        look.join().unwrap();
        assert!(table.remove(newcomer.join().unwrap()).is_ok());
        assert_eq!(table.live(), 0);
    });
}

/// A place that its thread gives up is another's afterwards, and never both.
#[test]
fn a_place_given_up_is_given_out_again() {
    explore(|| {
        let table = Arc::new(Handles::<Thing>::new(0));
        let threads = [0, 1, 2].map(|number| {
            let table = table.clone();
            thread::spawn(move || {
                drop(table.reserve());
                let handle = insert(&table, number);
                assert_eq!(table.remove(handle).map(|thing| *thing.0).ok(), Some(number));
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(table.live(), 0);
    });
}
