//! The configuration of a registry.

use serde_json::{Value, json};

use super::error::ApiError;
use super::fields::{self, Fields};
use super::limits::Limits;
use super::policy::PolicyRef;
use super::time::{self, UnixMs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    Production,
    Development,
    Test,
}

impl Environment {
    pub fn as_str(self) -> &'static str {
        match self {
            Environment::Production => "production",
            Environment::Development => "development",
            Environment::Test => "test",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    Reject,
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuffixPolicy {
    Off,
    Warn,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockConfig {
    System,
    Manual { start: UnixMs },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchConfig {
    Push,
    Pull,
}

/// Where audit entries go, beside the bounded memory that every registry keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditSink {
    Memory,
    Callback,
    File { path: String, max_bytes: u64 },
}

/// The process's one pool is made as the first registry asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    pub workers: usize,
    pub max_replacement_workers: usize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        PoolConfig { workers: cores.clamp(2, 8), max_replacement_workers: 16 }
    }
}

#[derive(Clone, Debug)]
pub struct Config {
    pub environment: Environment,
    pub limits: Limits,
    pub policies: Vec<PolicyRef>,
    pub on_duplicate: OnDuplicate,
    pub suffix_policy: SuffixPolicy,
    pub apply_defaults: bool,
    pub clock: ClockConfig,
    pub dispatch: DispatchConfig,
    pub audit: AuditSink,
    pub id_seed: Option<u64>,
    /// `None` where the registry says nothing about the pool.
    pub pool: Option<PoolConfig>,
}

impl Config {
    pub fn parse(text: &[u8]) -> Result<Config, ApiError> {
        let value = fields::document(text, Some(json!({})))?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let environment = fields
            .word(
                "environment",
                &[
                    ("production", Environment::Production),
                    ("development", Environment::Development),
                    ("test", Environment::Test),
                ],
            )?
            .unwrap_or(Environment::Production);
        let limits = match fields.fields("limits")? {
            None => Limits::default(),
            Some(mut inner) => {
                let limits = Limits::read(&mut inner)?;
                inner.finish()?;
                limits
            }
        };
        let config = Config {
            environment,
            limits,
            policies: PolicyRef::read_list(&mut fields, "policies")?,
            on_duplicate: fields
                .word("onDuplicateInstance", &[("reject", OnDuplicate::Reject), ("replace", OnDuplicate::Replace)])?
                .unwrap_or(OnDuplicate::Reject),
            suffix_policy: fields
                .word(
                    "duplicateSuffixPolicy",
                    &[("off", SuffixPolicy::Off), ("warn", SuffixPolicy::Warn), ("error", SuffixPolicy::Error)],
                )?
                .unwrap_or(SuffixPolicy::Warn),
            apply_defaults: fields.boolean("applyDefaults")?.unwrap_or(false),
            clock: read_clock(&mut fields)?,
            dispatch: fields
                .word("dispatch", &[("push", DispatchConfig::Push), ("pull", DispatchConfig::Pull)])?
                .unwrap_or(DispatchConfig::Push),
            audit: read_audit(&mut fields)?,
            id_seed: fields.integer("idSeed", 0, u64::MAX)?,
            pool: read_pool(&mut fields)?,
        };
        if config.id_seed.is_some() && environment != Environment::Test {
            return Err(fields.error("idSeed", "Give idSeed only with \"environment\": \"test\"."));
        }
        fields.finish()?;
        Ok(config)
    }
}

fn read_clock(fields: &mut Fields) -> Result<ClockConfig, ApiError> {
    match fields.get("clock") {
        None => Ok(ClockConfig::System),
        Some(Value::String(word)) if word == "system" => Ok(ClockConfig::System),
        Some(Value::Object(_)) => {
            let mut clock = fields.fields("clock")?.ok_or_else(|| fields.error("clock", "Give an object here."))?;
            clock.required("manual")?;
            let manual = clock.fields("manual")?;
            clock.finish()?;
            let mut manual = manual.ok_or_else(|| fields.error("clock", "Give an object here."))?;
            let text = manual.required_string("start")?;
            let start = time::parse(text)
                .ok_or_else(|| manual.error("start", "Give a UTC time such as 2026-01-01T00:00:00.000Z here."))?;
            manual.finish()?;
            Ok(ClockConfig::Manual { start })
        }
        Some(_) => Err(fields.error("clock", "Give \"system\" or {\"manual\": {\"start\": time}} here.")),
    }
}

fn read_audit(fields: &mut Fields) -> Result<AuditSink, ApiError> {
    let Some(mut audit) = fields.fields("audit")? else { return Ok(AuditSink::Memory) };
    let sink = match audit.get("sink") {
        None => AuditSink::Memory,
        Some(Value::String(word)) if word == "memory" => AuditSink::Memory,
        Some(Value::String(word)) if word == "callback" => AuditSink::Callback,
        Some(Value::Object(_)) => {
            let mut file = audit.fields("sink")?.ok_or_else(|| audit.error("sink", "Give an object here."))?;
            let path = file.required_string("file")?.to_string();
            let max_bytes = file.integer("maxBytes", 1024, 1 << 40)?.unwrap_or(16 * 1024 * 1024);
            if path.is_empty() || path.contains('\0') {
                return Err(file.error("file", "Give the path of a file here."));
            }
            file.finish()?;
            AuditSink::File { path, max_bytes }
        }
        Some(_) => return Err(audit.error("sink", "Give \"memory\", \"callback\" or {\"file\": path} here.")),
    };
    audit.finish()?;
    Ok(sink)
}

fn read_pool(fields: &mut Fields) -> Result<Option<PoolConfig>, ApiError> {
    let Some(mut pool) = fields.fields("pool")? else { return Ok(None) };
    let default = PoolConfig::default();
    let config = PoolConfig {
        workers: pool.integer("workers", 1, 256)?.map_or(default.workers, |n| n as usize),
        max_replacement_workers: pool
            .integer("maxReplacementWorkers", 0, 1024)?
            .map_or(default.max_replacement_workers, |n| n as usize),
    };
    pool.finish()?;
    Ok(Some(config))
}
