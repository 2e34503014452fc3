//! Rows of several seeds, brought together: mean, 95 % interval, extremes.
//!
//! A single seed has no interval. Extremes over seeds are extremes of the seeds' values: the maximum of a class's
//! maximum latency is the longest any frame took in any seed, and the mean of it is a mean of maxima.

use clearway_metrics::{Row, Summary};
use std::collections::BTreeMap;

/// One number over several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct OverSeeds {
    /// The row of the first seed; its `seed` and `value` are those of that seed.
    pub first: Row,
    /// Seeds that have the number.
    pub seeds: u64,
    /// Mean over the seeds, in the row's unit.
    pub mean: f64,
    /// 95 % confidence interval of the mean (Student's t), low and high; none for a single seed.
    pub ci95: Option<[f64; 2]>,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Brings the rows together that differ in seed and value alone, in the order in which the first of each stands.
/// Rows without a finite value are left out.
#[must_use]
pub fn over_seeds(rows: &[Row]) -> Vec<OverSeeds> {
    type Key<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str, &'a str);
    let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    let mut groups: Vec<(&Row, Vec<f64>)> = Vec::new();
    for row in rows.iter().filter(|r| r.value.is_finite()) {
        let key = (
            &*row.run,
            row.scope,
            &*row.name,
            row.metric,
            &*row.stat,
            row.layer,
            &*row.population,
        );
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(row.value),
            None => groups.push((row, vec![row.value])),
        }
    }
    let together = |(first, values): (&Row, Vec<f64>)| {
        let summary = Summary::of(&values)?;
        Some(OverSeeds {
            first: first.clone(),
            seeds: values.len() as u64,
            mean: summary.mean,
            ci95: summary.ci95(),
            min: summary.min,
            max: summary.max,
        })
    };
    groups.into_iter().filter_map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u64, name: &str, value: f64) -> Row {
        Row {
            run: "r".to_owned(),
            seed,
            scope: "class",
            name: name.to_owned(),
            metric: "latency",
            stat: "mean".to_owned(),
            unit: "s",
            layer: "-",
            value,
            population: "all frames".to_owned(),
        }
    }

    #[test]
    fn rows_that_differ_in_seed_alone_become_one_number_with_an_interval() {
        let rows = [
            row(1, "a", 1.0),
            row(1, "b", 9.0),
            row(2, "a", 2.0),
            row(3, "a", 3.0),
            row(3, "b", f64::NAN),
        ];
        let together = over_seeds(&rows);
        assert_eq!(together.len(), 2);
        let a = &together[0];
        assert_eq!(
            (a.first.name.as_str(), a.seeds, a.mean, a.min, a.max),
            ("a", 3, 2.0, 1.0, 3.0)
        );
        // Student's t for 2 degrees of freedom is 4.3027; the standard error is 1 / sqrt(3).
        let [low, high] = a.ci95.expect("three seeds have an interval");
        assert!(
            (high - 2.0 - 4.302_65 / 3f64.sqrt()).abs() < 1e-4 && (2.0 - low - (high - 2.0)).abs() < 1e-9
        );
        let b = &together[1];
        assert_eq!((b.seeds, b.mean, b.ci95), (1, 9.0, None));
    }
}
