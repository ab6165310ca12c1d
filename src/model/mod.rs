//! What things are: ids, definitions, limits, errors, requests, results.

pub mod config;
pub mod consumer;
pub mod definition;
pub mod error;
pub mod fields;
pub mod id;
pub mod limits;
pub mod policy;
pub mod request;
pub mod time;
pub mod writer;

pub use config::Config;
pub use consumer::{Consumer, ConsumerKind};
pub use error::{ApiError, Code, ErrorCode, ErrorPayload, Retry};
pub use limits::Limits;
