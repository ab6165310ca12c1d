//! The table that is printed, and that the README carries.

use crate::measure::Samples;

pub struct Row {
    what: String,
    took: String,
    compared: String,
    target: String,
}

/// What a ratio must stay under.
pub type Target = Option<f64>;

impl Row {
    /// A time, and nothing it is compared with.
    pub fn alone(samples: &Samples, name: &str) -> Row {
        Row { what: name.into(), took: time(samples.median(name)), compared: String::new(), target: String::new() }
    }

    pub fn against(samples: &Samples, name: &str, to: &str, target: Target) -> Row {
        Row::ratio(name, time(samples.median(name)), samples.ratio(name, to), to, target)
    }

    /// Something else than a time, with a bound of its own.
    pub fn bounded(what: &str, took: String, bound: &str, missed_it: bool) -> Row {
        Row { what: what.into(), took, compared: String::new(), target: format!("{bound}{}", missed(missed_it)) }
    }

    pub fn ratio(what: &str, took: String, ratio: f64, to: &str, target: Target) -> Row {
        let target = target.map_or(String::new(), |most| format!("≤ {most}×{}", missed(ratio > most)));
        Row { what: what.into(), took, compared: format!("{ratio:.2}× {to}"), target }
    }
}

fn missed(missed: bool) -> &'static str {
    if missed { " **missed**" } else { "" }
}

pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        n if n < 10_000.0 => format!("{:.2} µs", n / 1e3),
        n if n < 1_000_000.0 => format!("{:.1} µs", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}

pub fn print(rows: impl Iterator<Item = Row>) {
    println!("| what | median | compared, in one run | to reach |");
    println!("|---|---:|---:|---|");
    rows.for_each(|row| println!("| {} | {} | {} | {} |", row.what, row.took, row.compared, row.target));
}
