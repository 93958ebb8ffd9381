//! A figure: what was measured on our side and on the floor, round by round, and what was promised about it.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Ours is at least so many times the floor's.
    TimesAtLeast(f64),
    /// Ours is at most so many times the floor's.
    TimesAtMost(f64),
    AtMost(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) suite: &'static str,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// One value for each round.
    pub(crate) ours: Vec<f64>,
    pub(crate) floor: Vec<f64>,
    pub(crate) targets: Vec<Target>,
}

impl Figure {
    pub(crate) fn new(suite: &'static str, name: impl Into<String>, unit: &'static str) -> Figure {
        Figure { suite, name: name.into(), unit, ours: Vec::new(), floor: Vec::new(), targets: Vec::new() }
    }

    pub(crate) fn target(mut self, target: Target) -> Figure {
        self.targets.push(target);
        self
    }

    pub(crate) fn both(&mut self, ours: f64, floor: f64) {
        self.ours.push(ours);
        self.floor.push(floor);
    }

    pub(crate) fn ratio(&self) -> Option<f64> {
        let ratio = median(&self.ours)? / median(&self.floor)?;
        ratio.is_finite().then_some(ratio)
    }

    /// None: there is nothing to hold it to, or nothing was measured.
    pub(crate) fn is_met(&self, target: Target) -> Option<bool> {
        match target {
            Target::TimesAtLeast(least) => Some(self.ratio()? >= least),
            Target::TimesAtMost(most) => Some(self.ratio()? <= most),
            Target::AtMost(most) => Some(median(&self.ours)? <= most),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let targets: Vec<Value> =
            self.targets.iter().map(|t| json!({ "target": t.to_string(), "met": self.is_met(*t) })).collect();
        json!({
            "suite": self.suite,
            "figure": self.name,
            "unit": self.unit,
            "ours": median(&self.ours),
            "floor": median(&self.floor),
            "ratio": self.ratio(),
            "ours_rounds": self.ours,
            "floor_rounds": self.floor,
            "targets": targets,
        })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::TimesAtLeast(least) => write!(f, ">= {least}x"),
            Target::TimesAtMost(most) => write!(f, "<= {most}x"),
            Target::AtMost(most) => write!(f, "<= {most}"),
        }
    }
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (upper + sorted[sorted.len() / 2 - 1]) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_one_counts_and_rounds_that_measured_nothing_do_not() {
        assert_eq!(median(&[9.0, 1.0, f64::NAN, 3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_target_is_judged_by_medians_and_not_at_all_without_a_floor() {
        let mut figure = Figure::new("x", "runs", "/s");
        figure.ours = vec![40.0, 60.0, 1_000.0];
        assert_eq!(figure.is_met(Target::TimesAtLeast(0.5)), None);
        assert_eq!(figure.is_met(Target::AtMost(60.0)), Some(true));
        figure.floor = vec![100.0];
        assert_eq!(figure.is_met(Target::TimesAtLeast(0.5)), Some(true));
        assert_eq!(figure.is_met(Target::TimesAtMost(0.5)), Some(false));
    }
}
