//! Names the shared library by its ABI and keeps it loaded: worker threads may still be leaving
//! when a host calls `dlclose`. Only the cdylib is concerned.

/// The one number in the file name; `tests/exports.rs` holds it against `AS_ABI_VERSION`.
const ABI: u32 = 1;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let link = |arg: &str| println!("cargo:rustc-cdylib-link-arg={arg}");
    match os.as_str() {
        "linux" | "android" => {
            link(&format!("-Wl,-soname,libagent_surface.so.{ABI}"));
            link("-Wl,-z,nodelete");
        }
        "macos" => link(&format!("-Wl,-install_name,@rpath/libagent_surface.{ABI}.dylib")),
        _ => {}
    }
}
