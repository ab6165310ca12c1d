//! The host's functions that must answer before they return: what each answers stands in a variable. Everything else is
//! fetched, so nothing here ever runs on another thread.

use agent_surface::runtime::{HostFn, Reply};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::program::{first_values, masked};

/// What all functions of one host share.
pub struct Shared {
    vars: Mutex<HashMap<&'static str, Value>>,
    /// Functions that the library has not released.
    pub live: AtomicUsize,
    /// Functions that were called although their calls are to be fetched.
    pub strays: AtomicUsize,
}

#[derive(Clone, Copy)]
pub enum What {
    Var(&'static str),
    Leave,
    Mask,
    /// Never called in pull dispatch.
    Fetched,
}

pub struct Function {
    shared: Arc<Shared>,
    what: What,
}

impl Shared {
    pub fn new() -> Arc<Shared> {
        let vars = Mutex::new(first_values().into_iter().collect());
        Arc::new(Shared { vars, live: AtomicUsize::new(0), strays: AtomicUsize::new(0) })
    }

    pub fn set(&self, var: &'static str, to: Value) {
        self.vars.lock().unwrap_or_else(PoisonError::into_inner).insert(var, to);
    }

    pub fn get(&self, var: &str) -> Value {
        self.vars.lock().unwrap_or_else(PoisonError::into_inner).get(var).cloned().unwrap_or_default()
    }

    pub fn function(self: &Arc<Shared>, what: What) -> Arc<dyn HostFn> {
        self.live.fetch_add(1, Ordering::Relaxed);
        Arc::new(Function { shared: self.clone(), what })
    }
}

impl HostFn for Function {
    fn call(&self, reply: Option<&Arc<Reply>>, _: &[u8], _: &[u8]) {
        let answer = match self.what {
            What::Var(var) => self.shared.get(var),
            What::Leave => Value::Null,
            What::Mask => json!({"output": masked()}),
            What::Fetched => {
                self.shared.strays.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        if let Some(reply) = reply {
            // A call that is over no longer wants the answer.
            let _ = reply.json(answer.to_string().as_bytes());
        }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.shared.live.fetch_sub(1, Ordering::Relaxed);
    }
}
