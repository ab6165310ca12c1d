//! Timing by comparison: machines differ and drift, so what counts is a ratio of things that were timed in turns.

use std::time::Instant;

/// How long one sample should take: long against the clock's own cost, short against a time slice of the system, so
/// that most samples are not interrupted and the median is of those.
const SAMPLE_NS: f64 = 100_000.0;

/// One thing to be timed.
pub struct Subject<'a> {
    name: &'static str,
    run: Box<dyn FnMut() + 'a>,
}

pub fn subject<'a>(name: &'static str, run: impl FnMut() + 'a) -> Subject<'a> {
    Subject { name, run: Box::new(run) }
}

impl Subject<'_> {
    /// What one run takes, in nanoseconds, measured over `times`.
    fn time(&mut self, times: u32) -> f64 {
        let began = Instant::now();
        (0..times).for_each(|_| (self.run)());
        began.elapsed().as_nanos() as f64 / f64::from(times)
    }

    /// How many runs make a sample.
    fn fit(&mut self) -> u32 {
        let tries: Vec<f64> = (0..50).map(|_| self.time(1)).collect();
        (SAMPLE_NS / quantile(&tries, 0.25)).clamp(1.0, 10_000.0) as u32
    }
}

/// What one run of each subject took, round by round, in nanoseconds.
pub struct Samples(Vec<(&'static str, Vec<f64>)>);

/// Takes `rounds` samples of every subject in turns, so that whatever slows the machine down slows all of them.
pub fn alternate(rounds: usize, mut subjects: Vec<Subject>) -> Samples {
    let times: Vec<u32> = subjects.iter_mut().map(Subject::fit).collect();
    let mut samples: Vec<_> = subjects.iter().map(|subject| (subject.name, Vec::with_capacity(rounds))).collect();
    for _ in 0..rounds {
        for ((subject, times), (_, taken)) in subjects.iter_mut().zip(&times).zip(&mut samples) {
            taken.push(subject.time(*times));
        }
    }
    Samples(samples)
}

impl Samples {
    /// For what is timed in a way of its own, in turns as well.
    pub fn of_rounds(samples: Vec<(&'static str, Vec<f64>)>) -> Samples {
        Samples(samples)
    }

    fn of(&self, name: &str) -> &[f64] {
        let found = self.0.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("nothing is called {name}")).1
    }

    pub fn median(&self, name: &str) -> f64 {
        quantile(self.of(name), 0.5)
    }

    /// The median of the ratios of each round.
    pub fn ratio(&self, name: &str, to: &str) -> f64 {
        let ratios: Vec<f64> = self.of(name).iter().zip(self.of(to)).map(|(a, b)| a / b).collect();
        quantile(&ratios, 0.5)
    }
}

pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}
