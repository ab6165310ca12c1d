//! Projects a surface to the tool catalog of a language model, and its calls back (section 12).

use std::sync::Arc;

use crate::model::{ApiError, Code};
use crate::runtime::Hook;
use crate::surface::{Invocation, Surface};

#[derive(Clone)]
pub struct Toolset;

impl Toolset {
    pub fn new(_: &Surface, _: &[u8]) -> Result<Toolset, ApiError> {
        Err(ApiError::new(Code::Argument, "The toolset is not built yet."))
    }
    pub fn tools(&self, _: &[u8]) -> Result<String, ApiError> {
        Err(ApiError::closed())
    }
    pub fn info(&self) -> Result<String, ApiError> {
        Err(ApiError::closed())
    }
    pub fn render(&self, _: &[u8], _: &[u8]) -> Result<String, ApiError> {
        Err(ApiError::closed())
    }
    pub fn call(&self, _: &[u8], _: Option<Hook>) -> Result<Invocation, ApiError> {
        Err(ApiError::closed())
    }
    pub fn call_wait(&self, _: &[u8]) -> Result<Arc<[u8]>, ApiError> {
        Err(ApiError::closed())
    }
    pub fn dispose(&self) {}
}
