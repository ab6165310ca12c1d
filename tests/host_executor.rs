//! An executor that comes after what is registered (AS-LIFE-001): the names that both have are told, or refused.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;

/// A registry with `view:t.go` and then an executor of these paths, once with and once without; what was said each time.
fn with_executor_after(policy: &str) -> [as_code; 2] {
    let registry = registry(json!({ "duplicateSuffixPolicy": policy }), None);
    let registration = register(registry, component(&["go"], &[]), &[binding("go", 0, vec![answers("1")]).0]);
    let codes = [json!(["other"]), json!(["t.go", "other"])].map(|paths| {
        let built = table(vec![answers("2")]);
        let code = executor_set(registry, paths, &handler_table(0, &built));
        if code != AS_OK {
            built.seen.destroyed_once();
        }
        code
    });
    // A second time it is nothing new.
    let _ = executor_set(registry, json!(["t.go"]), &handler_table(0, &table(vec![answers("3")])));
    let suspected: Vec<_> =
        audit(registry).into_iter().filter(|entry| entry["type"] == "collision-suspected").collect();
    assert_eq!(suspected.len(), usize::from(policy == "warn"));
    assert!(suspected.iter().all(|entry| entry["capabilityId"] == "view:t.go" && entry["componentType"] == "t"));
    unregister(registration);
    end(registry);
    codes
}

#[test]
fn a_name_that_the_executor_takes_up_later() {
    assert_eq!(with_executor_after("off"), [AS_OK, AS_OK]);
    assert_eq!(with_executor_after("warn"), [AS_OK, AS_OK]);
    assert_eq!(with_executor_after("error"), [AS_OK, AS_E_DEFINITION]);
}
