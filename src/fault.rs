//! Faults that can be put back, so that the simulation can be seen to find them. Only in a build with the feature
//! `faults`, and only the one that `AGENT_SURFACE_FAULT` names; in every other build nothing of it is left.

/// Whether the fault of this name is put back.
#[cfg(feature = "faults")]
pub fn is(name: &str) -> bool {
    static NAMED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    NAMED.get_or_init(|| std::env::var("AGENT_SURFACE_FAULT").ok()).as_deref() == Some(name)
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn is(_: &str) -> bool {
    false
}
