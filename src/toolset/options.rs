//! The options of a toolset, read once.

use std::sync::Arc;

use crate::catalog::snapshot::{View, read_budget};
use crate::model::fields::{self, Fields};
use crate::model::request::Reach;
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Consumer, ConsumerKind};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A tool for each capability.
    Direct,
    /// Three tools for whatever there is.
    Meta,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    Embedded,
    Remote,
}

/// What becomes of a call that a person must confirm.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Confirmations {
    /// It waits for the person.
    Wait,
    /// The model is told, and the call comes again.
    TwoPhase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ToolCallIds {
    /// One id, one request: another request under it conflicts.
    Unique,
    /// Providers use an id again for another request, which is then a call of its own.
    Reused,
}

const MODES: &[(&str, Mode)] = &[("direct", Mode::Direct), ("meta", Mode::Meta)];
const TOPOLOGIES: &[(&str, Topology)] = &[("embedded", Topology::Embedded), ("remote", Topology::Remote)];
const CONFIRMATIONS: &[(&str, Confirmations)] =
    &[("wait", Confirmations::Wait), ("two-phase", Confirmations::TwoPhase)];
const TOOL_CALL_IDS: &[(&str, ToolCallIds)] = &[("unique", ToolCallIds::Unique), ("reused", ToolCallIds::Reused)];

pub struct Options {
    pub consumer: Arc<Consumer>,
    pub mode: Mode,
    pub topology: Option<Topology>,
    pub confirmations: Confirmations,
    pub tool_call_ids: ToolCallIds,
    pub scope: Option<Vec<String>>,
    budget: (Option<usize>, Option<usize>),
}

impl Options {
    /// `{consumer?, mode?, topology?, confirmations?, scope?, budget?, toolCallIds?}`. `mint` gives a consumer's id.
    pub fn parse(text: &[u8], mint: impl FnOnce() -> String) -> Result<Options, ApiError> {
        let value = fields::document(text, None)?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let path = fields.child("consumer");
        let consumer = match fields.get("consumer") {
            None => Consumer::new(ConsumerKind::Other, &mint(), None),
            some => Consumer::read(some, &path)?,
        };
        let mode = fields.word("mode", MODES)?.unwrap_or(Mode::Direct);
        let topology = fields.word("topology", TOPOLOGIES)?;
        let explicit = fields.word("confirmations", CONFIRMATIONS)?;
        let tool_call_ids = fields.word("toolCallIds", TOOL_CALL_IDS)?.unwrap_or(ToolCallIds::Unique);
        let scope = fields.strings("scope")?.map(|scope| scope.into_iter().map(String::from).collect());
        let budgeted = fields.get("budget").is_some();
        let budget = read_budget(&mut fields)?;
        if budgeted && mode == Mode::Direct {
            // A tool that is left out is lost to the model: in direct mode nothing would bring it back.
            return Err(fields.error("budget", "A budget is for mode meta; in direct mode narrow the scope."));
        }
        fields.finish()?;
        // Held open for a person, or not: nobody but the host knows which its transport bears (RFC, correction 6).
        let confirmations = match (explicit, topology) {
            (Some(explicit), _) => explicit,
            (None, Some(Topology::Embedded)) => Confirmations::Wait,
            (None, Some(Topology::Remote)) => Confirmations::TwoPhase,
            (None, None) => {
                let message = "Give \"topology\" (embedded or remote), or \"confirmations\" (wait or two-phase).";
                return Err(fields::argument(String::new(), message.into()));
            }
        };
        Ok(Options { consumer, mode, topology, confirmations, tool_call_ids, scope, budget })
    }

    /// The catalog that the toolset projects, narrowed to `scope`.
    pub fn view(&self, scope: Option<Vec<String>>) -> View {
        View {
            consumer: self.consumer.clone(),
            scope,
            include_unavailable: true,
            max_components: self.budget.0,
            max_bytes: self.budget.1,
        }
    }

    /// The part of the surface that calls of the toolset may reach.
    pub fn reach(&self, observations_only: bool) -> Option<Arc<Reach>> {
        let narrow = observations_only || self.scope.is_some();
        narrow.then(|| Arc::new(Reach { scope: self.scope.clone(), observations_only }))
    }

    /// As they came out, defaults filled in.
    pub fn describe(&self) -> String {
        let mut out = ObjectWriter::new();
        out.raw("consumer", self.consumer.json.as_bytes());
        out.string("mode", word(MODES, self.mode));
        out.optional_string("topology", self.topology.map(|topology| word(TOPOLOGIES, topology)));
        out.string("confirmations", word(CONFIRMATIONS, self.confirmations));
        out.string("toolCallIds", word(TOOL_CALL_IDS, self.tool_call_ids));
        if let Some(scope) = &self.scope {
            out.array("scope", scope, |prefix, out| crate::json::write_string(prefix, out));
        }
        let (components, bytes) = self.budget;
        if components.is_some() || bytes.is_some() {
            out.object("budget", |out| {
                for (name, value) in [("maxComponents", components), ("maxBytes", bytes)] {
                    if let Some(value) = value {
                        out.number(name, value as i64);
                    }
                }
            });
        }
        out.finish()
    }
}

fn word<T: Copy + PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    words.iter().find(|(_, other)| *other == value).map_or("", |(word, _)| word)
}
