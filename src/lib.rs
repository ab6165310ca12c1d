//! Agent Surface decides whether, when and how an AI agent's tool call runs inside a host
//! application, and proves afterwards which request a result belongs to.
//!
//! The floors, from the ground up; imports go down only:
//!
//! 1. [`model`], [`json`], [`schema`]: what things are.
//! 2. `runtime`, `observe`, `confirm`, `admit`, `policy`, `catalog`, `registry`: what a registry holds.
//! 3. `pipeline`: one invocation, ten phases.
//! 4. [`surface`]: the registry as a Rust type, the one public face.
//! 5. [`ffi`]: the C ABI, and the only `unsafe` in the crate.
#![deny(unsafe_code)]

pub mod json;
pub mod model;
pub mod schema;

mod admit;
mod catalog;
mod confirm;
mod fault;
mod observe;
mod pipeline;
mod policy;
mod registry;
pub mod runtime;
mod sync;

pub mod surface;
pub mod toolset;
mod verify;

pub mod ffi;
