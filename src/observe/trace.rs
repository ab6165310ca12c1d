//! One `tracing` span an invocation, with OpenTelemetry's GenAI attribute names. Behind the cargo
//! feature `tracing`; without it, nothing of this is compiled in. The host installs the subscriber.

use std::future::Future;

use super::CallIds;
use crate::model::ErrorCode;

#[cfg(feature = "tracing")]
mod enabled {
    use tracing::Instrument;

    use super::*;

    /// Runs `future` inside the call's span.
    pub fn in_span<F: Future>(ids: &CallIds, future: F) -> impl Future<Output = F::Output> + use<F> {
        let span = tracing::info_span!(
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = &*ids.capability_id,
            gen_ai.tool.call.id = &*ids.invocation_id,
            agent_surface.attempt.id = ids.attempt_id,
            agent_surface.consumer.key = &*ids.consumer.key,
            agent_surface.issued_digest = &*ids.issued_digest,
            agent_surface.request_digest = tracing::field::Empty,
            agent_surface.status = tracing::field::Empty,
            error.r#type = tracing::field::Empty,
            traceparent = ids.traceparent,
        );
        future.instrument(span)
    }

    /// Adds how the call ended to the current span.
    pub fn settled(request_digest: Option<&str>, code: Option<ErrorCode>) {
        let span = tracing::Span::current();
        if let Some(digest) = request_digest {
            span.record("agent_surface.request_digest", digest);
        }
        span.record("agent_surface.status", if code.is_none() { "ok" } else { "error" });
        if let Some(code) = code {
            span.record("error.type", code.name());
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod disabled {
    use super::*;

    pub fn in_span<F: Future>(_: &CallIds, future: F) -> F {
        future
    }

    pub fn settled(_: Option<&str>, _: Option<ErrorCode>) {}
}

#[cfg(not(feature = "tracing"))]
pub use disabled::{in_span, settled};
#[cfg(feature = "tracing")]
pub use enabled::{in_span, settled};
