//! The lists in `spec/` against the code, both ways: codes, the error matrix, and which test shows which requirement.
//!
//! The `tests` of `spec/conformance.json` are what this file finds: a scenario file whose `requirements` name the id, a Rust
//! test whose doc comment names it, a C test (`TEST(name)`) whose comment names it.
//! `UPDATE_CONFORMANCE=1 cargo test --test conformance` writes them down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agent_surface::ffi::{AS_OK, as_code_name};
use agent_surface::model::Code;
use agent_surface::model::error::ERROR_MATRIX;
use serde_json::Value;

const LIST: &str = "spec/conformance.json";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn json(file: &str) -> Value {
    serde_json::from_str(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no text {key}"))
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

// ---- codes -------------------------------------------------------------------------------------------------------------

#[test]
fn codes_are_those_of_the_list() {
    let listed: BTreeMap<i64, String> = list(&json("spec/codes.json"), "codes")
        .iter()
        .map(|entry| (entry["number"].as_i64().unwrap(), text(entry, "name").to_owned()))
        .collect();
    let in_code: BTreeMap<i64, String> = Code::ALL
        .iter()
        .map(|code| (*code as i64, code.name().to_owned()))
        .chain([(AS_OK.into(), "AS_OK".to_owned())])
        .collect();
    assert_eq!(listed, in_code);

    let in_header: BTreeMap<i64, String> = read("include/agent_surface.h")
        .lines()
        .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
        .filter(|(name, _)| *name == "AS_OK" || name.starts_with("AS_E_"))
        .map(|(name, number)| (number.parse().unwrap(), name.to_owned()))
        .collect();
    assert_eq!(listed, in_header);

    for (number, name) in &listed {
        // SAFETY: the function answers a static text with a NUL at its end.
        let answered = unsafe { std::ffi::CStr::from_ptr(as_code_name(*number as i32)) };
        assert_eq!(answered.to_str().unwrap(), name);
    }
}

/// What a refused definition may be told is what the code can say.
#[test]
fn definition_errors_are_those_of_the_list() {
    let listed: BTreeSet<String> =
        list(&json("spec/codes.json"), "definitionErrors").iter().map(|entry| text(entry, "name").to_owned()).collect();
    let page = read("spec/codes.json") + &read("include/agent_surface.h");
    let source: String = sources("src", "rs").iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for name in &listed {
        assert!(source.contains(&format!("\"{name}\"")), "{name} stands nowhere in src");
        assert!(page.contains(name.as_str()));
    }
}

// ---- the error matrix --------------------------------------------------------------------------------------------------

/// AS-ERR-001: every row exists in the code, and the code has no other.
#[test]
fn error_matrix_is_that_of_the_code() {
    let matrix = json("spec/error-matrix.json");
    type Row = (Vec<u64>, Vec<String>, bool, Vec<String>);
    let listed: BTreeMap<String, Row> = list(&matrix, "errors")
        .iter()
        .map(|row| {
            let phases = list(row, "phases").iter().map(|phase| phase.as_u64().unwrap()).collect();
            let recorded = row["recorded"].as_bool().unwrap();
            (text(row, "code").to_owned(), (phases, texts(row, "retry"), recorded, texts(row, "details")))
        })
        .collect();
    let in_code: BTreeMap<String, Row> = ERROR_MATRIX
        .iter()
        .map(|row| {
            let phases = row.phases.iter().map(|phase| u64::from(*phase)).collect();
            let retry = row.retry.iter().map(|retry| retry.as_str().to_owned()).collect();
            let details = row.details.iter().map(|detail| detail.to_string()).collect();
            (row.name.to_owned(), (phases, retry, row.recorded, details))
        })
        .collect();
    assert_eq!(listed, in_code);
    assert_eq!(listed.len(), list(&matrix, "errors").len(), "a code stands twice");

    let retries: BTreeSet<String> = texts(&matrix, "retry").into_iter().collect();
    assert_eq!(retries, listed.values().flat_map(|row| row.1.clone()).collect());
    for code in texts(&matrix, "hostMayType") {
        assert!(listed[&code].0.contains(&9), "{code} cannot come out of a handler");
    }
}

// ---- requirements and the tests that show them -------------------------------------------------------------------------

/// Every file below `folder` whose name ends so, in order.
fn sources(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// Every requirement id that stands in a text: `AS-`, capitals, `-`, three digits.
fn ids(text: &str) -> BTreeSet<String> {
    let id = |rest: &str| {
        let area = rest.find(|c: char| !c.is_ascii_uppercase())?;
        let number = rest[area..].strip_prefix('-')?;
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        (area > 0 && digits == 3).then(|| format!("AS-{}-{}", &rest[..area], &number[..3]))
    };
    text.match_indices("AS-").filter_map(|(at, _)| id(&text[at + 3..])).collect()
}

/// The tests of one source file with the ids in the comment above each. `test_name` knows a test by its first line and what
/// stands above it.
fn commented_tests(path: &Path, test_name: fn(&str, &str) -> Option<String>) -> Vec<(String, BTreeSet<String>)> {
    let mut tests = Vec::new();
    let mut comment = String::new();
    for line in std::fs::read_to_string(path).unwrap().lines().map(str::trim) {
        if let Some(name) = test_name(line, &comment) {
            tests.push((format!("{}::{name}", relative(path)), ids(&comment)));
        }
        let above = ["//", "/*", "*", "#["].iter().any(|start| line.starts_with(start));
        if above {
            comment.push_str(line);
        } else {
            comment.clear();
        }
    }
    tests
}

fn rust_test(line: &str, above: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("fn ")?.split_once('(')?;
    above.contains("#[test]").then(|| name.to_owned())
}

fn c_test(line: &str, _above: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("TEST(")?.split_once(')')?;
    Some(name.to_owned())
}

/// Which tests name which requirement.
fn shown() -> BTreeMap<String, BTreeSet<String>> {
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |test: String, ids: BTreeSet<String>| {
        for id in ids {
            shown.entry(id).or_default().insert(test.clone());
        }
    };
    for path in sources("spec/scenarios", "json") {
        let scenarios = json(&relative(&path));
        let scenarios = scenarios.as_array().map_or(std::slice::from_ref(&scenarios), Vec::as_slice);
        for scenario in scenarios {
            add(relative(&path), ids(&scenario["requirements"].to_string()));
        }
    }
    for path in sources("src", "rs").iter().chain(&sources("tests", "rs")) {
        commented_tests(path, rust_test).into_iter().for_each(|(test, ids)| add(test, ids));
    }
    for path in sources("tests/c", "c") {
        commented_tests(&path, c_test).into_iter().for_each(|(test, ids)| add(test, ids));
    }
    shown
}

fn write(list: &[Value], shown: &BTreeMap<String, BTreeSet<String>>) {
    let line = |requirement: &Value| {
        let field = |key: &str| format!("\"{key}\": {}", requirement[key]);
        let tests = shown.get(text(requirement, "id")).into_iter().flatten();
        let tests: Vec<_> = tests.map(|test| format!("\n      {}", Value::from(test.as_str()))).collect();
        let tests = format!("\"tests\": [{}]", tests.join(","));
        let fields = [field("id"), field("title"), field("source"), field("status"), tests];
        format!("    {{{}}}", fields.join(", "))
    };
    let lines: Vec<_> = list.iter().map(line).collect();
    std::fs::write(root().join(LIST), format!("{{\n  \"requirements\": [\n{}\n  ]\n}}\n", lines.join(",\n"))).unwrap();
}

/// Each implemented requirement names tests that exist and name it, and each test that names one is listed.
#[test]
fn requirements_and_tests_name_each_other() {
    let shown = shown();
    if std::env::var_os("UPDATE_CONFORMANCE").is_some() {
        write(list(&json(LIST), "requirements"), &shown);
    }
    let conformance = json(LIST);
    let mut wrong = Vec::new();
    for requirement in list(&conformance, "requirements") {
        let id = text(requirement, "id");
        let listed: BTreeSet<String> = texts(requirement, "tests").into_iter().collect();
        let found = shown.get(id).cloned().unwrap_or_default();
        listed.difference(&found).for_each(|test| wrong.push(format!("{id} lists {test}, which does not name it")));
        found.difference(&listed).for_each(|test| wrong.push(format!("{id} does not list {test}, which names it")));
        if text(requirement, "status") == "implemented" && found.is_empty() {
            wrong.push(format!("{id} is implemented and no test names it"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_CONFORMANCE=1 cargo test --test conformance\n{}", wrong.join("\n"));
}

#[test]
fn requirements_are_well_formed() {
    let conformance = json(LIST);
    let mut known = BTreeSet::new();
    for requirement in list(&conformance, "requirements") {
        let id = text(requirement, "id");
        assert_eq!(ids(id).into_iter().collect::<Vec<_>>(), [id]);
        assert!(known.insert(id.to_owned()), "{id} stands twice");
        assert!(!text(requirement, "title").is_empty() && !text(requirement, "source").is_empty(), "{id}");
        assert!(["implemented", "specified"].contains(&text(requirement, "status")), "{id}");
    }
    for (folder, extension) in [
        ("src", "rs"),
        ("tests", "rs"),
        ("tests", "c"),
        ("tests", "h"),
        ("benches", "rs"),
        ("spec", "json"),
        ("spec", "md"),
        ("examples", "c"),
        ("include", "h"),
        ("docs", "md"),
    ] {
        for path in sources(folder, extension) {
            let unknown: Vec<_> =
                ids(&std::fs::read_to_string(&path).unwrap()).into_iter().filter(|id| !known.contains(id)).collect();
            assert!(unknown.is_empty(), "{} names {unknown:?}, which are no requirements", relative(&path));
        }
    }
}

/// The collector itself: a test that it does not find would show nothing and hide that.
#[test]
fn ids_and_tests_are_found() {
    let found = ids("AS-IDENT-002, (AS-X-01) AS-ID-0031 AS-ID-003. as-id-001 AS--001");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["AS-ID-003", "AS-IDENT-002"]);
    let this = commented_tests(&root().join("tests/conformance.rs"), rust_test);
    let matrix = this.iter().find(|(test, _)| test.ends_with("::error_matrix_is_that_of_the_code")).unwrap();
    assert!(matrix.1.contains("AS-ERR-001"));
    assert!(!this.iter().any(|(test, _)| test.ends_with("::ids")), "a function that is no test");
    assert_eq!(c_test("TEST(null_handles) {", "").as_deref(), Some("null_handles"));
}
