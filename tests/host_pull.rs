//! A host that fetches its work (`"dispatch": "pull"`): what is kept for it, and what it still gets at the end.

mod host_support;

use agent_surface::ffi::*;
use host_support::*;

fn pulling(limits: Value) -> as_registry {
    registry(json!({ "dispatch": "pull", "limits": limits }), None)
}

fn nowhere() -> Value {
    json!({ "capabilityId": "view:no.where" })
}

/// AS-BOUND-003: what nobody fetches is bounded: with so much waiting no call is taken, and none of the results is lost.
#[test]
fn results_that_nobody_fetches() {
    let registry = pulling(json!({ "maxInFlight": 2, "maxEventBacklog": 3 }));
    let toolset = Toolset::new(registry, json!({ "topology": "remote" })).unwrap();
    let told: Vec<_> = (0..5)
        .map(|_| {
            let (results, seen) = on_result(|_| {});
            free(invoke(registry, nowhere(), json!({}), Some(&results)));
            seen
        })
        .collect();
    let (results, refused) = on_result(|_| {});
    assert_eq!(try_invoke(registry, nowhere(), json!({}), Some(&results)), (AS_E_LIMIT, 0));
    refused.destroyed_once();
    let (results, refused) = on_result(|_| {});
    assert_eq!(toolset.start(json!({ "name": "no" }), &results), AS_E_LIMIT);
    refused.destroyed_once();
    // One is fetched, and there is room for another.
    assert_eq!(next(registry, 0).unwrap()["do"], "result");
    free(invoke(registry, nowhere(), json!({}), Some(&on_result(|_| {}).0)));
    assert_eq!(try_invoke(registry, nowhere(), json!({}), None), (AS_E_LIMIT, 0));
    for _ in 0..5 {
        assert_eq!(next(registry, 0).unwrap()["context"]["error"]["code"], "CAPABILITY_NOT_FOUND");
    }
    assert_eq!(next(registry, 0), Err(AS_E_TIMEOUT));
    told.iter().for_each(|seen| seen.destroyed_once());
    drop(toolset);
    end(registry);
}

/// AS-BOUND-003: so are those who join one call that is under way.
#[test]
fn callers_of_one_call() {
    const MOST: usize = 1024;
    let registry = pulling(json!({}));
    let (binding, _) = binding("go", 0, vec![answers("1")]);
    let registration = register(registry, component(&["go"], &[]), &[binding]);
    let mut same = request("go");
    same["invocationId"] = json!("one");
    let callers: Vec<_> = (0..MOST).map(|_| invoke(registry, same.clone(), json!({}), None)).collect();
    let late = invoke(registry, same, json!({}), None);
    let result = wait_for(late, 0).unwrap();
    assert_eq!((status(&result), &result["error"]["details"]["reason"]), ("RATE_LIMITED", &json!("queue-full")));
    assert_eq!(reply_json(reply_of(&next(registry, 0).unwrap()), "1"), AS_OK);
    for caller in callers {
        assert_eq!(status(&wait_for(caller, 0).unwrap()), "ok");
        free(caller);
    }
    free(late);
    unregister(registration);
    end(registry);
}

/// AS-EVT-001: an event that was not fetched yet is not handed out once its listener was ended, also after the end of
/// the registry; the others' are.
#[test]
fn nothing_is_handed_out_after_unsubscribe() {
    for closes_first in [false, true] {
        let registry = pulling(json!({}));
        let tables = [listener(|_| {}), listener(|_| {})];
        let [ended, kept] = [&tables[0], &tables[1]].map(|(hooks, _)| subscribe(registry, hooks));
        let (binding, _) = binding("go", 0, vec![answers("1")]);
        unregister(register(registry, component(&["go"], &[]), &[binding]));
        if closes_first {
            assert_eq!(close(registry, PATIENCE_MS), AS_OK);
        }
        unsubscribe(ended);
        let events: Vec<_> = std::iter::from_fn(|| next(registry, 0).ok()).collect();
        let kinds: Vec<_> = events.iter().map(|event| event["context"]["type"].as_str().unwrap()).collect();
        // Coalesced: the first change of the surface is told with the second.
        assert_eq!(kinds, ["component-registered", "component-unregistered", "surface-changed"]);
        unsubscribe(kept);
        tables.iter().for_each(|(_, seen)| seen.destroyed_once());
        end(registry);
    }
}
