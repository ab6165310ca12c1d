//! The toolset as a Rust type, for what no scenario can say: the forms of the providers, threads that wait, callers that
//! give up, what is told of a call that was mended, and what a careless host is answered.

mod formats;
mod misuse;
mod sending;
mod waiting;

use agent_surface::runtime::{Hook, HostFn, Reply};
use agent_surface::surface::{Binding, HostHooks, Invocation, Surface};
use agent_surface::toolset::Toolset;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Host code that is a closure: reply, context, input.
struct Call<F>(F);

impl<F: Fn(Option<&Arc<Reply>>, &[u8], &[u8]) + Send + Sync> HostFn for Call<F> {
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], input: &[u8]) {
        (self.0)(reply, context, input);
    }
}

fn hook(f: impl Fn(Option<&Arc<Reply>>, &[u8], &[u8]) + Send + Sync + 'static) -> Hook {
    Arc::new(Call(f))
}

/// A handler that answers with its input.
fn echo() -> Hook {
    hook(|reply, _, input| reply.unwrap().json(input).unwrap())
}

/// A handler that keeps the reply for later.
fn pending() -> (Hook, Arc<Mutex<Vec<Arc<Reply>>>>) {
    let kept: Arc<Mutex<Vec<Arc<Reply>>>> = Arc::default();
    let keep = kept.clone();
    let handler = hook(move |reply, _, _| {
        let reply = reply.unwrap();
        reply.defer().unwrap();
        keep.lock().unwrap().push(reply.clone());
    });
    (handler, kept)
}

fn bind(name: &str, handler: Hook) -> Binding {
    Binding { name: name.into(), handler: Some(handler), ..Binding::default() }
}

/// By the manual clock.
fn surface() -> Surface {
    let config = json!({"clock": {"manual": {"start": "2026-01-01T00:00:00.000Z"}}});
    Surface::new(config.to_string().as_bytes(), HostHooks::default()).unwrap()
}

fn action(more: Value) -> Value {
    let mut action = json!({"description": "Do it", "effect": "local-state", "input": {"type": "object"}});
    action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    action
}

/// A surface with one component `disk` and its action `wipe`.
fn disk(wipe: Value, handler: Hook) -> Surface {
    let surface = surface();
    register(
        &surface,
        json!({"type": "disk", "description": "Disk", "actions": {"wipe": wipe}}),
        vec![bind("wipe", handler)],
    );
    surface
}

fn register(surface: &Surface, definition: Value, bindings: Vec<Binding>) -> agent_surface::surface::Registration {
    surface.register(definition.to_string().as_bytes(), bindings).unwrap()
}

fn toolset(surface: &Surface, options: Value) -> Toolset {
    Toolset::new(surface, options.to_string().as_bytes()).unwrap()
}

fn tools(toolset: &Toolset, format: &str) -> Value {
    serde_json::from_str(&toolset.tools(format.as_bytes()).unwrap()).unwrap()
}

fn call(toolset: &Toolset, call: Value) -> Invocation {
    toolset.call(call.to_string().as_bytes(), None).unwrap()
}

fn call_wait(toolset: &Toolset, call: Value) -> Value {
    serde_json::from_slice(&toolset.call_wait(call.to_string().as_bytes()).unwrap()).unwrap()
}

/// The result, if there is one already.
fn result(surface: &Surface, invocation: &Invocation) -> Option<Value> {
    surface.quiesce(60_000).unwrap();
    invocation.wait(0).ok().map(|result| serde_json::from_slice(&result).unwrap())
}

fn confirmations(surface: &Surface) -> Vec<Value> {
    serde_json::from_str::<Value>(&surface.confirmations().unwrap()).unwrap().as_array().unwrap().clone()
}

fn confirm(surface: &Surface, id: &Value, approved: bool) {
    surface.confirm(json!({"confirmationId": id, "approved": approved}).to_string().as_bytes()).unwrap();
}

/// The one question that is open.
fn question(surface: &Surface) -> Value {
    surface.quiesce(60_000).unwrap();
    let open = confirmations(surface);
    assert_eq!(open.len(), 1, "{open:?}");
    open[0]["confirmationId"].clone()
}

fn audit(surface: &Surface, kind: &str) -> Vec<Value> {
    let entries: Value = serde_json::from_str(&surface.audit_read(0)).unwrap();
    entries.as_array().unwrap().iter().filter(|entry| entry["type"] == kind).cloned().collect()
}
