//! Handles: 64-bit numbers that stand for what the host holds. One table a kind.
//!
//! | bits | 63..60 | 59..50 | 49..20 | 19..0 |
//! |---|---|---|---|---|
//! | | kind | epoch of the process | generation of the slot | index of the slot |
//!
//! A number that was never handed out is told from one that was freed: generations only grow, and a slot that has used
//! all of its own is retired. A lookup copies a reference out and leaves the lock before any work; nothing is dropped
//! under it either, so no host code ever runs there.

use super::process::{self, Process};
use crate::model::{ApiError, Code};
use crate::sync::Mutex;

const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 30;
const EPOCH_BITS: u32 = 10;

const MAX_SLOTS: usize = 1 << INDEX_BITS;
const MAX_GENERATION: u32 = (1 << GENERATION_BITS) - 1;
const MAX_EPOCH: u64 = (1 << EPOCH_BITS) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Registry = 1,
    Registration,
    Invocation,
    Reply,
    Subscription,
    Toolset,
}

/// Hosts whose widest integer is signed hold a handle without loss.
const _: () = assert!((Kind::Toolset as u64) < 1 << 3);

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Registry => "registry",
            Kind::Registration => "registration",
            Kind::Invocation => "invocation",
            Kind::Reply => "reply",
            Kind::Subscription => "subscription",
            Kind::Toolset => "toolset",
        }
    }
}

/// What a handle can stand for: which table it lives in, and what a lookup hands out.
pub(super) trait Item: Sized + 'static {
    type Found;
    const KIND: Kind;
    fn handles(process: &Process) -> &Handles<Self>;
    /// Runs under the lock of the table: copies a reference and nothing else. `None` where the thing itself is gone.
    fn found(&self) -> Option<Self::Found>;
}

/// Looks a handle up. Errors: `AS_E_NULL_HANDLE`, `AS_E_STALE_HANDLE`, `AS_E_WRONG_HANDLE`, `AS_E_FORKED`.
pub(super) fn find<I: Item>(handle: u64) -> Result<I::Found, ApiError> {
    I::handles(process::here()).find(handle)
}

/// Takes a handle back; it is stale from here on. Errors: as `find`.
pub(super) fn remove<I: Item>(handle: u64) -> Result<I, ApiError> {
    I::handles(process::here()).remove(handle)
}

/// Takes a place before the work is done that will fill it, so that a full table is answered before anything happened.
/// Errors: `AS_E_LIMIT`.
pub(super) fn reserve<I: Item>() -> Result<Reserved<'static, I>, ApiError> {
    I::handles(process::here()).reserve()
}

/// Whether the handle is of a process that this one was forked from.
pub(super) fn inherited(handle: u64, process: &Process) -> bool {
    kind_bits(handle) != 0 && epoch_of(handle) < process.epoch
}

fn kind_bits(handle: u64) -> u64 {
    handle >> (INDEX_BITS + GENERATION_BITS + EPOCH_BITS)
}

fn epoch_of(handle: u64) -> u64 {
    handle >> (INDEX_BITS + GENERATION_BITS) & MAX_EPOCH
}

fn generation_of(handle: u64) -> u32 {
    (handle >> INDEX_BITS) as u32 & MAX_GENERATION
}

fn index_of(handle: u64) -> usize {
    handle as usize & (MAX_SLOTS - 1)
}

/// The table of one kind. It holds at most 2^20 handles; its memory stays at the most it ever held.
pub(super) struct Handles<I> {
    epoch: u64,
    slots: Mutex<Slots<I>>,
}

struct Slots<I> {
    list: Vec<Slot<I>>,
    free: Vec<usize>,
    taken: usize,
}

/// `generation` is the last one handed out, 0 for none.
struct Slot<I> {
    generation: u32,
    item: Option<I>,
}

impl<I: Item> Handles<I> {
    pub(super) fn new(epoch: u64) -> Self {
        Handles { epoch, slots: Mutex::new(Slots { list: Vec::new(), free: Vec::new(), taken: 0 }) }
    }

    /// Places taken, those reserved included.
    pub(super) fn live(&self) -> usize {
        self.slots.lock().taken
    }

    pub(super) fn find(&self, handle: u64) -> Result<I::Found, ApiError> {
        let found = self.decode(handle).and_then(|(index, generation)| {
            let slots = self.slots.lock();
            slots.slot(index, generation)?.item.as_ref().and_then(I::found).ok_or(Code::StaleHandle)
        });
        found.map_err(|code| self.refused(code))
    }

    pub(super) fn remove(&self, handle: u64) -> Result<I, ApiError> {
        let removed = self.decode(handle).and_then(|(index, generation)| {
            let mut slots = self.slots.lock();
            slots.slot(index, generation)?;
            let item = slots.list[index].item.take().ok_or(Code::StaleHandle)?;
            slots.release(index);
            Ok(item)
        });
        removed.map_err(|code| self.refused(code))
    }

    pub(super) fn reserve(&self) -> Result<Reserved<'_, I>, ApiError> {
        let full = || {
            let noun = I::KIND.noun();
            ApiError::new(Code::Limit, format!("No more than {MAX_SLOTS} {noun} handles can be held at once."))
        };
        if self.epoch > MAX_EPOCH {
            return Err(full());
        }
        let (index, generation) = self.slots.lock().take().ok_or_else(full)?;
        let handle = (I::KIND as u64) << (INDEX_BITS + GENERATION_BITS + EPOCH_BITS)
            | self.epoch << (INDEX_BITS + GENERATION_BITS)
            | u64::from(generation) << INDEX_BITS
            | index as u64;
        Ok(Reserved { handles: self, handle, filled: false })
    }

    /// Judges by the bits alone, before the lock.
    fn decode(&self, handle: u64) -> Result<(usize, u32), Code> {
        if handle == 0 {
            return Err(Code::NullHandle);
        }
        let kind = kind_bits(handle);
        if kind == 0 || kind > Kind::Toolset as u64 {
            return Err(Code::WrongHandle);
        }
        if epoch_of(handle) < self.epoch {
            return Err(Code::Forked);
        }
        if epoch_of(handle) > self.epoch || kind != I::KIND as u64 {
            return Err(Code::WrongHandle);
        }
        Ok((index_of(handle), generation_of(handle)))
    }

    fn refused(&self, code: Code) -> ApiError {
        let noun = I::KIND.noun();
        let message = match code {
            Code::NullHandle => format!("The {noun} handle is 0."),
            Code::StaleHandle => format!("The {noun} handle was freed, or what it stood for is gone."),
            Code::Forked => format!("The {noun} handle was made before fork(). Make a new registry in this process."),
            _ => format!("This is not the handle of a {noun}."),
        };
        ApiError::new(code, message)
    }
}

impl<I> Slots<I> {
    fn take(&mut self) -> Option<(usize, u32)> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.list.len() < MAX_SLOTS => {
                self.list.push(Slot { generation: 0, item: None });
                self.list.len() - 1
            }
            None => return None,
        };
        self.taken += 1;
        let slot = &mut self.list[index];
        slot.generation += 1;
        Some((index, slot.generation))
    }

    fn release(&mut self, index: usize) {
        self.taken -= 1;
        if self.list[index].generation < MAX_GENERATION {
            self.free.push(index);
        }
    }

    /// The slot of a generation that was handed out, whatever became of it: an older one is stale, an unheard of one
    /// was never ours.
    fn slot(&self, index: usize, generation: u32) -> Result<&Slot<I>, Code> {
        let slot = self.list.get(index).ok_or(Code::WrongHandle)?;
        if generation == 0 || generation > slot.generation {
            return Err(Code::WrongHandle);
        }
        if generation < slot.generation {
            return Err(Code::StaleHandle);
        }
        Ok(slot)
    }
}

/// A place in a table, given back when it is dropped unfilled.
pub(super) struct Reserved<'a, I: Item> {
    handles: &'a Handles<I>,
    handle: u64,
    filled: bool,
}

impl<I: Item> Reserved<'_, I> {
    pub(super) fn fill(mut self, item: I) -> u64 {
        self.filled = true;
        self.handles.slots.lock().list[index_of(self.handle)].item = Some(item);
        self.handle
    }
}

impl<I: Item> Drop for Reserved<'_, I> {
    fn drop(&mut self) {
        if !self.filled {
            self.handles.slots.lock().release(index_of(self.handle));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Registration;
    use std::sync::{Arc, Weak};

    impl Item for Weak<u32> {
        type Found = Arc<u32>;
        const KIND: Kind = Kind::Reply;
        fn handles(_: &Process) -> &Handles<Self> {
            unreachable!("these tests hold their own tables")
        }
        fn found(&self) -> Option<Arc<u32>> {
            self.upgrade()
        }
    }

    fn table(epoch: u64) -> Handles<Weak<u32>> {
        Handles::new(epoch)
    }

    fn insert(table: &Handles<Weak<u32>>, item: &Arc<u32>) -> u64 {
        table.reserve().unwrap().fill(Arc::downgrade(item))
    }

    fn code<T>(answer: Result<T, ApiError>) -> Code {
        match answer {
            Ok(_) => panic!("refused, it should have been"),
            Err(error) => error.code,
        }
    }

    /// Null, stale and foreign numbers are told apart, and a reused slot does not revive an old handle.
    #[test]
    fn every_kind_of_wrong_number_has_its_code() {
        let (table, seven) = (table(0), Arc::new(7));
        let first = insert(&table, &seven);
        assert_eq!(*table.find(first).unwrap(), 7);
        assert_eq!(code(table.find(0)), Code::NullHandle);
        assert_eq!(code(table.find(first + 1)), Code::WrongHandle, "an index beyond the table");
        assert_eq!(code(table.find(first + (1 << INDEX_BITS))), Code::WrongHandle, "a generation to come");
        assert_eq!(code(table.find(first & !(u64::from(MAX_GENERATION) << INDEX_BITS))), Code::WrongHandle, "none");
        assert_eq!(code(table.find(u64::MAX)), Code::WrongHandle);
        assert_eq!(code(table.find(1)), Code::WrongHandle, "no kind");

        table.remove(first).unwrap();
        assert_eq!(code(table.find(first)), Code::StaleHandle);
        assert_eq!(code(table.remove(first)), Code::StaleHandle, "freed twice");
        let second = insert(&table, &seven);
        assert_eq!(index_of(second), index_of(first));
        assert_eq!(code(table.find(first)), Code::StaleHandle, "the slot is another's now");
        assert!(table.find(second).is_ok());
    }

    #[test]
    fn a_handle_of_another_kind_is_wrong() {
        let registrations = Handles::<Registration>::new(0);
        let handle = insert(&table(0), &Arc::new(7));
        assert_eq!(code(registrations.find(handle)), Code::WrongHandle);
        assert_eq!(code(registrations.remove(handle)), Code::WrongHandle);
    }

    #[test]
    fn a_handle_whose_thing_is_gone_is_stale() {
        let (table, seven) = (table(0), Arc::new(7));
        let handle = insert(&table, &seven);
        drop(seven);
        assert_eq!(code(table.find(handle)), Code::StaleHandle);
    }

    /// A handle of before the fork is known by its epoch, whatever the child has handed out since.
    #[test]
    fn an_inherited_handle_is_forked_and_a_childs_is_foreign_to_the_parent() {
        let (parent, child, seven) = (table(0), table(1), Arc::new(7));
        let (of_parent, of_child) = (insert(&parent, &seven), insert(&child, &seven));
        assert_eq!(code(child.find(of_parent)), Code::Forked);
        assert_eq!(code(parent.find(of_child)), Code::WrongHandle);
        assert!(child.find(of_child).is_ok());
        assert_eq!(code(table(MAX_EPOCH + 1).reserve().map(|_| ())), Code::Limit);
    }

    #[test]
    fn an_unfilled_place_is_given_back_and_stands_for_nothing() {
        let table = table(0);
        let place = table.reserve().unwrap();
        let handle = place.handle;
        assert_eq!(table.live(), 1);
        assert_eq!(code(table.find(handle)), Code::StaleHandle);
        drop(place);
        assert_eq!(table.live(), 0);
        assert_eq!(code(table.find(handle)), Code::StaleHandle);
    }

    #[test]
    fn a_table_is_bounded() {
        let (table, seven) = (table(0), Arc::new(7));
        for _ in 0..MAX_SLOTS {
            insert(&table, &seven);
        }
        assert_eq!(code(table.reserve().map(|_| ())), Code::Limit);
        assert_eq!(table.live(), MAX_SLOTS);
    }

    #[test]
    fn a_slot_that_used_every_generation_is_retired() {
        let (table, seven) = (table(0), Arc::new(7));
        let first = insert(&table, &seven);
        table.remove(first).unwrap();
        table.slots.lock().list[0].generation = MAX_GENERATION - 1;
        let last = insert(&table, &seven);
        assert_eq!((index_of(last), generation_of(last)), (0, MAX_GENERATION));
        table.remove(last).unwrap();
        assert_eq!(index_of(insert(&table, &seven)), 1);
        assert_eq!(code(table.find(last)), Code::StaleHandle);
        assert_eq!(table.live(), 1);
    }
}

#[cfg(all(test, feature = "models"))]
#[path = "../../tests/models/handles.rs"]
mod models;
