//! The C headers are what cbindgen renders from `src/ffi`. `UPDATE_HEADERS=1 cargo test --test header` rewrites them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// In the order in which a C reader wants to meet them.
const PUBLIC: &[&str] = &[
    "types.rs",
    "version.rs",
    "blob.rs",
    "registry.rs",
    "registration.rs",
    "reply.rs",
    "invocation.rs",
    "confirmation.rs",
    "looking.rs",
    "toolset.rs",
    "binding.rs",
];
/// What only a developer or a test may call.
const DEVELOPMENT: &[&str] = &["dev.rs"];

const PUBLIC_INTRODUCTION: &str = "\
/* Agent Surface: decides whether, when and how an AI agent's tool call runs in a host application.
 *
 * The whole contract is spec/abi.md. In short: every function answers an as_code and fills its outputs only on AS_OK; texts
 * go in as UTF-8 with a length and are copied; texts come out as an as_blob that the caller frees with as_blob_free;
 * callbacks answer through a one-shot as_reply; every function may be called from any thread.
 *
 * Generated from src/ffi by cbindgen; do not edit. */";
const DEVELOPMENT_INTRODUCTION: &str = "\
/* Agent Surface for developers and tests: why something is hidden, the manual clock, what is still alive. It discloses what
 * the public functions withhold, so nothing that an agent can reach includes it.
 *
 * Generated from src/ffi by cbindgen; do not edit. */";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn render(sources: &[&str], introduction: &str, guard: &str, includes: &str) -> String {
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml");
    config.header = Some(introduction.to_owned());
    config.include_guard = Some(guard.to_owned());
    config.after_includes = Some(includes.to_owned());
    let builder = sources
        .iter()
        .fold(cbindgen::Builder::new(), |builder, file| builder.with_src(root().join("src/ffi").join(file)));
    let mut rendered = Vec::new();
    builder.with_config(config).generate().expect("src/ffi is understood by cbindgen").write(&mut rendered);
    String::from_utf8(rendered).expect("UTF-8")
}

fn public() -> String {
    render(PUBLIC, PUBLIC_INTRODUCTION, "AGENT_SURFACE_H", "#include <stddef.h>\n#include <stdint.h>")
}

fn development() -> String {
    render(DEVELOPMENT, DEVELOPMENT_INTRODUCTION, "AGENT_SURFACE_DEV_H", "#include \"agent_surface.h\"")
}

fn check(file: &str, rendered: &str) {
    let path = root().join("include").join(file);
    if std::env::var_os("UPDATE_HEADERS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, rendered).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let line = rendered.lines().zip(committed.lines()).position(|(new, old)| new != old);
    assert!(
        committed == rendered,
        "include/{file} differs from src/ffi at line {}; run UPDATE_HEADERS=1 cargo test --test header",
        line.map_or_else(|| rendered.lines().count().min(committed.lines().count()) + 1, |at| at + 1)
    );
}

#[test]
fn public_header_is_current() {
    check("agent_surface.h", &public());
}

/// AS-EXPLAIN-004: explain is declared in a header of its own.
#[test]
fn development_header_is_current() {
    let (public, development) = (public(), development());
    assert!(!public.contains("as_dev_"));
    assert!(development.contains("as_dev_explain("));
    check("agent_surface_dev.h", &development);
}

/// A file with exports that no header renders would be an undeclared function.
#[test]
fn every_export_is_rendered() {
    let listed: BTreeSet<_> = PUBLIC.iter().chain(DEVELOPMENT).map(|file| file.to_string()).collect();
    let exporting = |path: &Path| std::fs::read_to_string(path).unwrap().contains("\n#[unsafe(no_mangle)]");
    for entry in std::fs::read_dir(root().join("src/ffi")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(listed.contains(&name) || !exporting(&path), "{name} exports functions and is in no header");
    }
}

/// What a C reader finds at every function.
#[test]
fn every_function_is_documented() {
    for header in [public(), development()] {
        let mut comment = String::new();
        for line in header.lines() {
            if line.starts_with("/*") || line.starts_with(" *") {
                comment.push_str(line);
                continue;
            }
            if let Some(name) = declared(line) {
                for section in ["Ownership", "Threads", "Blocking", "Errors"] {
                    assert!(comment.contains(section), "{name} does not say: {section}");
                }
            }
            comment.clear();
        }
    }
}

/// The function that a line of a header begins to declare.
fn declared(line: &str) -> Option<&str> {
    let (before, _) = line.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    (name.starts_with("as_") && !before.starts_with("typedef")).then_some(name)
}
