//! What things cost, as ratios: everything in one table is timed in turns in one run.
//!
//! `cargo bench --bench surface` prints a table in Markdown. Words after `--` choose the parts whose names begin so.

mod calls;
mod crowd;
mod floor;
mod measure;
mod reading;
mod table;
mod world;

use table::Row;

/// A part of the table: its name, and what times it.
type Part = (&'static str, fn() -> Vec<Row>);

fn main() {
    let parts: &[Part] = &[("calls", calls::run), ("reading", reading::run), ("crowd", crowd::run)];
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if chosen == [crowd::PENDING] {
        return crowd::pend();
    }
    let rows = parts
        .iter()
        .filter(|(name, _)| chosen.is_empty() || chosen.iter().any(|word| name.starts_with(word.as_str())))
        .flat_map(|(_, run)| run());
    table::print(rows);
}
