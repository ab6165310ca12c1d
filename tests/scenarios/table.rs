//! The table of steps: which fields each has, and what they may hold.

use crate::json::Json;
use crate::matcher;
use crate::model::{Fault, fault, join, object};
use crate::refs;
use crate::script::{self, Answer, Script};

/// What a field may hold. A document goes to the library as it is, which is the judge of it.
#[derive(Clone, Copy)]
pub enum Kind {
    Document,
    Name,
    Text,
    Integer,
    Index,
    Flag,
    Texts,
    Object,
    Scripts,
    Answers,
    Confirmation,
    Matcher,
    Word(&'static [&'static str]),
}
use Kind::*;

pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
}

const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true }
}

const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false }
}

const PHASES: [&str; 8] =
    ["onDiscovery", "onAuthorize", "onInvoke", "onResult", "discovery", "authorize", "invoke", "result"];
const MODES: [&str; 2] = ["exact", "subsequence"];

/// The table of steps. `expect` and `code` belong to every step and stand apart.
pub const STEPS: &[(&str, &[Field])] = &[
    (
        "register",
        &[
            may("as", Name),
            must("definition", Document),
            may("handlers", Scripts),
            may("when", Answers),
            may("bind", Answers),
            may("describe", Answers),
            may("precondition", Answers),
        ],
    ),
    ("update", &[must("registration", Name), must("patch", Document)]),
    ("invalidate", &[must("registration", Name)]),
    ("unregister", &[must("registration", Name)]),
    ("swap", &[must("registration", Name), must("handlers", Scripts)]),
    (
        "invoke",
        &[
            may("as", Name),
            must("request", Document),
            may("consumer", Document),
            may("timeoutMs", Document),
            may("deadlineMs", Document),
        ],
    ),
    ("await", &[must("invocation", Name)]),
    ("unsettled", &[must("invocation", Name)]),
    ("cancel", &[must("invocation", Name)]),
    (
        "finish",
        &[
            must("token", Name),
            may("index", Index),
            may("return", Document),
            may("reject", Document),
            may("fail", Text),
        ],
    ),
    (
        "decide",
        &[
            must("token", Name),
            may("index", Index),
            may("allow", Flag),
            may("deny", Document),
            may("confirm", Confirmation),
        ],
    ),
    ("aborted", &[must("token", Name), may("index", Index)]),
    ("advance", &[must("ms", Integer)]),
    ("set", &[must("var", Name), must("to", Document)]),
    ("confirm", &[must("id", Document), may("approve", Flag), may("reason", Document)]),
    ("pending", &[may("as", Name)]),
    ("snapshot", LOOK),
    ("explain", LOOK),
    ("version", &[]),
    ("events", LOG),
    ("audit", LOG),
    ("calls", &[must("handler", Name)]),
    ("contexts", &[must("policy", Name), may("phase", Word(&PHASES))]),
    ("toolset", &[may("as", Name), may("options", Document)]),
    ("tools", &[must("toolset", Name), may("format", Text)]),
    (
        "call",
        &[
            must("toolset", Name),
            must("name", Document),
            may("input", Document),
            may("toolCallId", Document),
            may("as", Name),
        ],
    ),
    ("disposeToolset", &[must("toolset", Name)]),
    ("verify", &[must("result", Document), must("request", Document)]),
    ("outcome", &[may("consumer", Document), must("id", Document)]),
    ("closeConsumer", &[must("consumer", Document)]),
    ("dispose", &[]),
];
const LOOK: &[Field] = &[
    may("as", Name),
    may("consumer", Document),
    may("scope", Document),
    may("includeUnavailable", Document),
    may("budget", Document),
];
const LOG: &[Field] = &[may("mode", Word(&MODES)), may("types", Texts), may("count", Matcher)];

pub fn check(value: Option<&Json>, kind: Kind, at: &str, required: bool) -> Result<(), Fault> {
    let Some(value) = value else { return if required { fault(at, "missing") } else { Ok(()) } };
    let is_reference = value.as_str().is_some_and(|text| refs::reference(text).is_some());
    if is_reference && !matches!(kind, Scripts | Answers) {
        return Ok(());
    }
    let (fits, wanted) = match kind {
        Document => (true, ""),
        Name => (value.as_str().is_some_and(|name| !name.is_empty()), "a name"),
        Text => (value.as_str().is_some(), "a string"),
        Integer => (value.as_int().is_some(), "an integer"),
        Index => (value.as_index().is_some(), "an integer from 0"),
        Flag => (value.as_bool().is_some(), "true or false"),
        Texts => {
            let texts = matches!(value, Json::Array(items) if items.iter().all(|item| item.as_str().is_some()));
            (texts, "an array of strings")
        }
        Object => (matches!(value, Json::Object(_)), "an object"),
        Word(words) => (value.as_str().is_some_and(|word| words.contains(&word)), "another word"),
        Scripts => return each(value, at, |script, at| Script::parse(script, at).map(drop)),
        Answers => return each(value, at, |script, at| Answer::parse(script, at).map(drop)),
        Confirmation => return script::summary(value, at).map(drop),
        Matcher => return check_matcher(value, at),
    };
    if fits { Ok(()) } else { fault(at, &format!("{wanted} wanted")) }
}

fn each(json: &Json, at: &str, parse: impl Fn(&Json, &str) -> Result<(), Fault>) -> Result<(), Fault> {
    object(json, at)?.iter().try_for_each(|(key, value)| parse(value, &join(at, key)))
}

fn check_matcher(json: &Json, at: &str) -> Result<(), Fault> {
    for (i, item) in json.items().iter().enumerate() {
        check_matcher(item, &format!("{at}/{i}"))?;
    }
    for (key, argument) in json.members() {
        let place = join(at, key);
        let fits = match (key.as_str(), argument.as_str()) {
            ("$exact", _) => continue,
            (_, Some(text)) if refs::reference(text).is_some() => continue,
            ("$any" | "$absent", _) => argument.is_true(),
            ("$match", Some(pattern)) => regex::Regex::new(pattern).is_ok(),
            ("$match", None) => false,
            ("$type", name) => name.is_some_and(|name| matcher::TYPES.contains(&name)),
            ("$len", _) => argument.as_index().is_some(),
            ("$oneOf", _) => matches!(argument, Json::Array(_)),
            _ => true,
        };
        if !fits {
            return fault(&place, &format!("{key} cannot have {}", matcher::short(argument)));
        }
        check_matcher(argument, &place)?;
    }
    Ok(())
}
