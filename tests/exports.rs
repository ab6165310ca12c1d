//! The shared library exports what the headers declare and `spec/abi.md` explains, and nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

fn read(file: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The shared library that was built together with this test.
fn library() -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name("libagent_surface.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// What a program of GNU binutils, which every C toolchain on Linux brings, says about the library.
fn ask(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{program} (binutils): {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The text without C comments.
fn code(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code + rest
}

/// Every `as_name` that an opening parenthesis follows.
fn functions(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices('(')
        .filter_map(|(at, _)| text[..at].rsplit(|c: char| !word(c)).next())
        .filter(|name| name.starts_with("as_"))
        .map(str::to_owned)
        .collect()
}

fn declared() -> BTreeSet<String> {
    let declared = functions(&(code(&read("include/agent_surface.h")) + &code(&read("include/agent_surface_dev.h"))));
    assert!(declared.contains("as_invoke_wait") && declared.contains("as_dev_live"));
    declared
}

#[test]
#[cfg(target_os = "linux")]
fn exported_symbols_are_the_headers_functions() {
    let exported: BTreeSet<_> = ask("nm", &["-D", "--defined-only"])
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .map(str::to_owned)
        .collect();
    assert_eq!(exported, declared());
}

/// The page explains every function once under "Functions", and none that is not there.
#[test]
fn the_contract_page_lists_the_headers_functions() {
    let page = read("spec/abi.md");
    let (_, listed) = page.split_once("\n## Functions\n").unwrap();
    let (listed, _) = listed.split_once("\n## Documents\n").unwrap();
    assert_eq!(functions(listed), declared());
}

#[test]
#[cfg(target_os = "linux")]
fn the_library_is_named_by_its_abi_and_stays_loaded() {
    let dynamic = ask("readelf", &["-d"]);
    let soname = format!("libagent_surface.so.{}", agent_surface::ffi::AS_ABI_VERSION);
    assert!(dynamic.lines().any(|line| line.contains("SONAME") && line.contains(&format!("[{soname}]"))), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}
