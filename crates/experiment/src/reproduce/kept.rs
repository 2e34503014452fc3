//! What is kept between two calls of the program, so that what is finished is not run again.
//!
//! A result is kept under a name that holds a digest of everything it depends on except the program itself: scenario,
//! overrides, seed, data file, what was extracted. The store adds a digest of the program. Results are encoded with the bits
//! of their numbers as they are, so that what is found again is what was computed. Every entry carries its own name and
//! a digest of its content: what is damaged, or stands under another name, is never used.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// First line of every entry.
const HEAD: &str = "clearway kept result 1";

/// Keeps finished results under names. Both calls come from several threads.
pub trait Store: Sync {
    /// The bytes that stand under this name; `None` where there is nothing.
    fn get(&self, name: &str) -> Option<Vec<u8>>;
    /// Keeps bytes. That they cannot be kept is no failure of the run: the store says so itself.
    fn put(&self, name: &str, bytes: &[u8]);
    /// Told that what stands under a name is of no use, and why.
    fn unusable(&self, name: &str, why: &str);
}

/// SHA-256 of the parts, each with its length before it, in hexadecimal.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entry that stands for a result.
///
/// # Errors
/// The result cannot be encoded.
pub fn seal<T: Serialize>(name: &str, result: &T) -> Result<Vec<u8>, String> {
    let body = postcard::to_stdvec(result).map_err(|e| e.to_string())?;
    let mut entry = format!("{HEAD}\n{name}\n{}\n", digest(&[&body])).into_bytes();
    entry.extend(body);
    Ok(entry)
}

/// The result that an entry stands for.
///
/// # Errors
/// Why it cannot be trusted.
pub fn open<T: DeserializeOwned>(name: &str, entry: &[u8]) -> Result<T, &'static str> {
    let mut parts = entry.splitn(4, |byte| *byte == b'\n');
    let mut line = || parts.next().ok_or("it is cut short");
    if line()? != HEAD.as_bytes() {
        return Err("it is not of this program");
    }
    if line()? != name.as_bytes() {
        return Err("it stands under another name");
    }
    let sum = line()?;
    let body = line()?;
    if sum != digest(&[body]).as_bytes() {
        return Err("its content is damaged");
    }
    match postcard::take_from_bytes(body) {
        Ok((result, [])) => Ok(result),
        _ => Err("its content is of another form"),
    }
}

/// The result under this name, if there is one that can be trusted.
pub(super) fn find<T: DeserializeOwned>(store: Option<&dyn Store>, name: &str) -> Option<T> {
    let store = store?;
    open(name, &store.get(name)?)
        .inspect_err(|why| store.unusable(name, why))
        .ok()
}

/// Keeps a result.
pub(super) fn keep<T: Serialize>(store: Option<&dyn Store>, name: &str, result: &T) {
    let Some(store) = store else { return };
    match seal(name, result) {
        Ok(entry) => store.put(name, &entry),
        Err(why) => store.unusable(name, &why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_bit_for_bit() {
        let result = vec![0.1 + 0.2, f64::NAN, -0.0, f64::INFINITY, 5e-324];
        let entry = seal("a", &result).unwrap_or_else(|e| panic!("{e}"));
        let back: Vec<f64> = open("a", &entry).unwrap_or_else(|e| panic!("{e}"));
        let bits = |all: &[f64]| all.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&result));
    }

    #[test]
    fn an_entry_that_is_not_what_was_kept_is_refused() {
        let entry = seal("a", &vec![1_u64, 2, 3]).unwrap_or_else(|e| panic!("{e}"));
        let refused = |name: &str, entry: &[u8]| open::<Vec<u64>>(name, entry).expect_err("refused");
        assert!(refused("b", &entry).contains("another name"));
        assert!(refused("a", b"").contains("not of this program"));
        assert!(refused("a", b"hello\nworld").contains("not of this program"));
        for length in 0..entry.len() {
            assert!(
                open::<Vec<u64>>("a", &entry[..length]).is_err(),
                "cut at {length}"
            );
        }
        for place in 0..entry.len() {
            let mut changed = entry.clone();
            changed[place] ^= 1;
            assert!(open::<Vec<u64>>("a", &changed).is_err(), "changed at {place}");
        }
        // Whole, but of another type.
        assert!(open::<Vec<String>>("a", &entry).is_err());
    }

    #[test]
    fn parts_that_join_to_the_same_text_have_different_digests() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"ab"]).len(), 64);
    }
}
