//! The C ABI, and the only `unsafe` in the crate. One file a noun; beneath them:
//!
//! - `types`: the names of C. `version`: constants.
//! - `guard`: the one way in. `process`: whose state, and forks. `handle`: numbers for what the host holds.
//! - `text`: what comes in. `blob`: what goes out. `table`: who owns callbacks. `callback`: calling them.
//!
//! **What every function asks of its caller** (the `# Safety` of all of them): each pointer is NULL, or good for what
//! the parameter says for as long as the function runs: a text for reading its length, an output for writing one
//! value, a table for reading its `struct_size`; and what callbacks are given is fit to be used on any thread.
//! Everything else (null and stale handles, lengths, encodings, documents, flags) is checked and answered by a code.
//!
//! Exports do their unsafe work in their first lines, where raw parameters become a `Text`, an `Out` or a `Passed`;
//! from there on they are ordinary code. A table is taken over before anything that can fail is looked at.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)] // one contract for all, above

mod blob;
mod callback;
mod guard;
mod handle;
mod process;
mod table;
mod text;
mod types;
mod version;

mod binding;
mod confirmation;
mod dev;
mod invocation;
mod looking;
mod registration;
mod registry;
mod reply;
mod toolset;

pub use binding::*;
pub use blob::as_blob_free;
pub use confirmation::*;
pub use dev::*;
pub use invocation::*;
pub use looking::*;
pub use registration::*;
pub use registry::*;
pub use reply::*;
pub use toolset::*;
pub use types::*;
pub use version::*;
