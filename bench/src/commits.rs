//! How long commits take, by the buckets the product itself counts them in; the floor's are put into the same ones, so
//! that both are read with the same coarseness.

use std::io::{Read, Write};

use anyhow::Context;

use crate::product::Product;

const NAME: &str = "duly_commit_seconds_bucket{le=\"";

/// Upper bounds in milliseconds, and how many were at most as long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    buckets: Vec<(f64, f64)>,
}

impl Commits {
    /// What a server has counted since it started.
    pub(crate) fn of(server: &Product) -> anyhow::Result<Commits> {
        let text = scrape(server)?;
        let lines = text.lines().filter_map(|line| line.strip_prefix(NAME)?.split_once("\"} "));
        let bucket = |(bound, count): (&str, &str)| {
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse::<f64>()? * 1e3 };
            anyhow::Ok((bound, count.trim().parse()?))
        };
        let mut buckets: Vec<(f64, f64)> = lines.map(bucket).collect::<anyhow::Result<_>>()?;
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        anyhow::ensure!(!buckets.is_empty(), "the server does not say how long its commits take");
        Ok(Commits { buckets })
    }

    /// What came after an earlier look.
    pub(crate) fn since(mut self, earlier: &Commits) -> Commits {
        for (now, before) in self.buckets.iter_mut().zip(&earlier.buckets) {
            now.1 -= before.1;
        }
        self
    }

    /// Microseconds, counted in the same buckets.
    pub(crate) fn counted(&self, took: &[f64]) -> Commits {
        let at_most = |bound: f64| took.iter().filter(|us| **us / 1e3 <= bound).count() as f64;
        Commits { buckets: self.buckets.iter().map(|(bound, _)| (*bound, at_most(*bound))).collect() }
    }

    /// The milliseconds within which this share of them was done, as if evenly spread within its bucket.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let all = self.buckets.last().map_or(0.0, |(_, count)| *count);
        let wanted = all * share;
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= wanted && *count > below {
                return if bound.is_finite() { low + (bound - low) * (wanted - below) / (count - below) } else { low };
            }
            (low, below) = (*bound, *count);
        }
        f64::NAN
    }
}

fn scrape(server: &Product) -> anyhow::Result<String> {
    let url = server.url();
    let address = url.trim().trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address)?;
    let token = server.token();
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer from /metrics")?;
    anyhow::ensure!(head.starts_with("HTTP/1.1 200"), "/metrics answered {}", head.lines().next().unwrap_or_default());
    Ok(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_found_within_its_bucket() {
        let bounds = Commits { buckets: vec![(1.0, 0.0), (2.0, 0.0), (5.0, 0.0), (f64::INFINITY, 0.0)] };
        let counted = bounds.counted(&[500.0, 1_500.0, 1_600.0, 9_000.0]);
        assert_eq!(counted.quantile(0.25), 1.0);
        assert_eq!(counted.quantile(0.5), 1.5);
        assert_eq!(counted.quantile(1.0), 5.0);
        assert!(bounds.quantile(0.5).is_nan());
    }
}
