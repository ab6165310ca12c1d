//! The span of a call, as a subscriber of the host sees it (cargo feature `tracing`).

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use agent_surface::runtime::{HostFn, Reply};
use agent_surface::surface::{Binding, HostHooks, Surface};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

type Seen = Arc<Mutex<BTreeMap<String, String>>>;

struct Collector(Seen, Mutex<Option<&'static Metadata<'static>>>);

struct Fields<'a>(&'a Seen);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}").trim_matches('"').to_string();
        self.0.lock().unwrap().insert(field.name().to_string(), text);
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        *self.1.lock().unwrap() = Some(span.metadata());
        span.record(&mut Fields(&self.0));
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Fields(&self.0));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn current_span(&self) -> Current {
        let metadata = self.1.lock().unwrap();
        metadata.map_or_else(Current::none, |metadata| Current::new(Id::from_u64(1), metadata))
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Answers;

impl HostFn for Answers {
    fn call(&self, reply: Option<&Arc<Reply>>, _: &[u8], _: &[u8]) {
        reply.unwrap().json(b"{\"done\":true}").unwrap();
    }
}

/// AS-BINDING-005: the ids and both digests are in the telemetry span, under the names of the GenAI conventions.
#[test]
fn a_call_is_one_span_with_its_ids_and_digests() {
    let seen = Seen::default();
    tracing::subscriber::with_default(Collector(seen.clone(), Mutex::default()), || {
        let surface = Surface::new(b"", HostHooks::default()).unwrap();
        let definition = br#"{"type":"door","description":"Door","actions":{"open":{"description":"Open","effect":"local-state","input":{"type":"object"}}}}"#;
        let binding = Binding { name: "open".into(), handler: Some(Arc::new(Answers)), ..Binding::default() };
        surface.register(definition, vec![binding]).unwrap();
        let request = br#"{"capabilityId":"view:door.open","invocationId":"x"}"#;
        let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let options = format!("{{\"traceparent\":\"{traceparent}\"}}");
        surface.invoke_wait(request, options.as_bytes()).unwrap();
        surface.close(-1).unwrap();
    });
    let seen = seen.lock().unwrap();
    let digest = agent_surface::surface::request_digest(b"view:door.open", b"{}").unwrap();
    for (name, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "view:door.open"),
        ("gen_ai.tool.call.id", "x"),
        ("agent_surface.consumer.key", "embedded:anonymous"),
        ("agent_surface.issued_digest", &digest),
        ("agent_surface.request_digest", &digest),
        ("agent_surface.status", "ok"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ] {
        assert_eq!(seen.get(name).map(String::as_str), Some(value), "{name} in {seen:?}");
    }
    assert!(seen["agent_surface.attempt.id"].starts_with("att_"));
    assert!(!seen.contains_key("error.type"));
}
