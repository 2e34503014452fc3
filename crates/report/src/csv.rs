//! Comma-separated values, RFC 4180, with a header line. Lines end in LF instead of CRLF, so that a diff reads well.
//!
//! Numbers are the shortest text that reads back as the same number; missing ones and not-a-number are empty fields.

use crate::frame::{Column, Frame};

/// The frame as CSV text.
#[must_use]
pub fn write(frame: &Frame) -> String {
    let mut out = String::new();
    for (i, (name, _)) in frame.columns().iter().enumerate() {
        separate(&mut out, i);
        out.push_str(&field(name));
    }
    out.push('\n');
    for row in 0..frame.len() {
        for (i, (_, column)) in frame.columns().iter().enumerate() {
            separate(&mut out, i);
            out.push_str(&value(column, row));
        }
        out.push('\n');
    }
    out
}

fn separate(out: &mut String, column: usize) {
    if column > 0 {
        out.push(',');
    }
}

fn value(column: &Column, row: usize) -> String {
    let text = match column {
        Column::Text(v) => v.get(row).map(|t| field(t)),
        Column::MaybeText(v) => v.get(row).and_then(Option::as_ref).map(|t| field(t)),
        Column::Integer(v) => v.get(row).map(u64::to_string),
        Column::Real(v) => v.get(row).map(|r| real(*r)),
        Column::MaybeReal(v) => v.get(row).copied().flatten().map(real),
    };
    text.unwrap_or_default()
}

/// Quoted where a reader would split or trim it otherwise.
fn field(text: &str) -> String {
    let quote = text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ');
    if quote {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The shortest text that reads back as `number`, with an exponent where the digits would be many.
fn real(number: f64) -> String {
    if number.is_nan() {
        return String::new();
    }
    let size = number.abs();
    if size != 0.0 && number.is_finite() && !(1e-5..1e16).contains(&size) {
        format!("{number:e}")
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{comparisons, parameters, rows};

    /// A reader of its own, after the grammar of RFC 4180.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut records, mut record, mut field, mut quoted) = (vec![], vec![], String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    field.push('"');
                }
                '"' => quoted = !quoted,
                ',' if !quoted => record.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    record.push(std::mem::take(&mut field));
                    records.push(std::mem::take(&mut record));
                }
                c => field.push(c),
            }
        }
        assert!(!quoted && field.is_empty() && record.is_empty());
        records
    }

    #[test]
    fn rows_read_back_as_they_were_written() {
        let rows = rows();
        let records = read(&write(&Frame::of_rows(&rows)));
        assert_eq!(
            records[0],
            [
                "run",
                "seed",
                "scope",
                "name",
                "metric",
                "stat",
                "unit",
                "layer",
                "value",
                "population"
            ]
        );
        assert_eq!(records.len(), rows.len() + 1);
        for (record, row) in records[1..].iter().zip(&rows) {
            assert_eq!(record[0], row.run);
            assert_eq!(record[1].parse::<u64>().unwrap(), row.seed);
            assert_eq!(record[3], row.name);
            if row.value.is_nan() {
                assert_eq!(record[8], "");
            } else {
                assert_eq!(record[8].parse::<f64>().unwrap().to_bits(), row.value.to_bits());
            }
        }
    }

    #[test]
    fn what_is_missing_is_an_empty_field() {
        let text = write(&Frame::of_comparisons(&comparisons()));
        assert!(text.lines().last().unwrap().ends_with(",predicted,,"));
        let text = write(&Frame::of_parameters(&parameters()));
        assert!(text.contains("backplane,rate,10000000000,bit/s,published,,\n"));
    }

    #[test]
    fn every_finite_number_reads_back_the_same() {
        for number in [
            0.0,
            -0.0,
            1e-5,
            9.99e-6,
            1e16,
            f64::MAX,
            5e-324,
            -1.0 / 3.0,
            37.2e9,
        ] {
            assert_eq!(
                real(number).parse::<f64>().unwrap().to_bits(),
                f64::to_bits(number)
            );
            assert!(real(number).len() <= 26);
        }
    }
}
