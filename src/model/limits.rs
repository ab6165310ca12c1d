//! Limits of a registry (section 14). Every one can be set; every one has a smallest and a largest
//! value that still means something, so that a bound can never be turned off.

use super::error::ApiError;
use super::fields::Fields;

macro_rules! limits {
    ($($field:ident $name:literal $default:literal, $min:literal ..= $max:literal;)*) => {
        /// Counts, bytes, and milliseconds (the names that end in `_ms`).
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits { $(#[doc = $name] pub $field: u64,)* }

        impl Default for Limits {
            fn default() -> Self { Limits { $($field: $default,)* } }
        }

        impl Limits {
            /// Reads the members that are there; the rest keep their defaults.
            pub fn read(fields: &mut Fields) -> Result<Limits, ApiError> {
                let mut limits = Limits::default();
                $(if let Some(value) = fields.integer($name, $min, $max)? { limits.$field = value; })*
                Ok(limits)
            }

            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field),)*]
            }
        }
    };
}

limits! {
    max_component_description "maxComponentDescription" 500, 1..=100_000;
    max_capability_description "maxCapabilityDescription" 300, 1..=100_000;
    max_meta_bytes "maxMetaBytes" 2048, 2..=1_048_576;
    max_output_bytes "maxOutputBytes" 32_768, 1..=67_108_864;
    max_input_bytes "maxInputBytes" 262_144, 2..=67_108_864;
    max_schema_bytes "maxSchemaBytes" 16_384, 2..=1_048_576;
    max_schema_depth "maxSchemaDepth" 8, 1..=64;
    max_json_depth "maxJsonDepth" 64, 1..=256;
    observation_timeout_ms "observationTimeoutMs" 5000, 1..=86_400_000;
    action_timeout_ms "actionTimeoutMs" 10_000, 1..=86_400_000;
    procedure_timeout_ms "procedureTimeoutMs" 30_000, 1..=86_400_000;
    policy_timeout_ms "policyTimeoutMs" 5000, 1..=86_400_000;
    action_queue_depth "actionQueueDepth" 2, 0..=100_000;
    max_concurrent_observations_per_consumer "maxConcurrentObservationsPerConsumer" 8, 1..=100_000;
    max_concurrent_observations_total "maxConcurrentObservationsTotal" 32, 1..=100_000;
    max_queued_observations_per_consumer "maxQueuedObservationsPerConsumer" 8, 0..=100_000;
    dedupe_cache_size "dedupeCacheSize" 200, 0..=1_000_000;
    dedupe_cache_ttl_ms "dedupeCacheTtlMs" 600_000, 0..=604_800_000;
    tombstone_size "tombstoneSize" 100, 0..=100_000;
    tombstone_ttl_ms "tombstoneTtlMs" 300_000, 0..=604_800_000;
    confirmation_ttl_ms "confirmationTtlMs" 120_000, 1..=604_800_000;
    confirmation_redeem_ms "confirmationRedeemMs" 30_000, 0..=604_800_000;
    max_pending_confirmations "maxPendingConfirmations" 32, 0..=100_000;
    max_registrations "maxRegistrations" 10_000, 1..=1_000_000;
    max_in_flight "maxInFlight" 1024, 1..=1_000_000;
    max_event_backlog "maxEventBacklog" 1024, 1..=1_000_000;
    audit_capacity "auditCapacity" 1000, 0..=1_000_000;
}

impl Limits {
    /// Bounds of a document that a host sends: definitions, configurations, options.
    pub fn host_bounds() -> crate::json::Bounds {
        crate::json::Bounds { bytes: 16 * 1024 * 1024, depth: 128 }
    }

    /// Bounds of a document with an input or an output in it: deeper than `maxJsonDepth` can be set.
    pub fn call_bounds() -> crate::json::Bounds {
        crate::json::Bounds { depth: crate::json::MAX_DEPTH, ..Limits::host_bounds() }
    }
}
