//! Documents: the snapshot, the canonical form and its digest.

use std::hint::black_box;

use agent_surface::json::{self, Bounds};
use agent_surface::surface::canonical_json;

use crate::measure::{alternate, subject};
use crate::table::Row;
use crate::world::{World, free, text};

const COPY: &str = "a copy of its bytes";
const SNAPSHOT: &str = "snapshot of 1,000 components";
const HASH: &str = "parse and hash the same text";
const DIGEST: &str = "canonical form and SHA-256 of 30 kB";

pub fn run() -> Vec<Row> {
    let mut rows = snapshot();
    rows.extend(digest());
    rows
}

fn snapshot() -> Vec<Row> {
    let world = World::with_components(1_000);
    let bytes = {
        let blob = world.snapshot();
        let bytes = text(&blob).as_bytes().to_vec();
        free(blob);
        bytes
    };
    let mut place = vec![0u8; bytes.len()];
    let samples = alternate(
        1000,
        vec![
            subject(COPY, || black_box(&mut place).copy_from_slice(black_box(&bytes))),
            subject("fresh copy", || drop(black_box(black_box(&bytes).to_vec()))),
            subject(SNAPSHOT, || free(world.snapshot())),
        ],
    );
    vec![
        Row::against(&samples, SNAPSHOT, COPY, Some(5.0)),
        Row::against(&samples, SNAPSHOT, "fresh copy", Some(5.0)),
        Row::alone(&samples, "fresh copy"),
    ]
}

fn digest() -> Vec<Row> {
    const BOUNDS: Bounds = Bounds { bytes: 1 << 20, depth: 64 };
    let document = document(30_000);
    let bytes = document.as_bytes();
    let samples = alternate(
        1000,
        vec![
            subject(HASH, || {
                drop(black_box(json::parse(black_box(bytes), &BOUNDS).expect("JSON")));
                black_box(json::sha256(black_box(bytes)));
            }),
            subject(DIGEST, || {
                let canonical = canonical_json(black_box(bytes)).expect("JSON");
                black_box(json::digest(canonical.as_bytes()));
            }),
        ],
    );
    vec![Row::against(&samples, DIGEST, HASH, Some(2.0))]
}

/// Records as an agent sends them: texts, whole numbers, decimals, flags, nested lists; keys not in order.
fn document(bytes: usize) -> String {
    let mut out = String::from("[");
    for n in 0.. {
        let record = format!(
            r#"{{"serial":"SN-{n:06}","id":"d-{n}","online":{},"load":{}.{:02},"site":{{"name":"north \u00e9 {}","floor":{}}},"tags":["a{n}","b","c \"quoted\""],"seen":{}}}"#,
            n % 2 == 0,
            n % 100,
            n % 97,
            n % 7,
            n % 12,
            1_700_000_000_000u64 + n
        );
        if out.len() + record.len() + 2 > bytes {
            break;
        }
        out.extend([if n > 0 { "," } else { "" }, &record]);
    }
    out + "]"
}
