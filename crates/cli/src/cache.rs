//! Where finished results are kept: a folder, by default in the user's cache.
//!
//! Each program has a folder of its own, named by the digest of its executable: another build finds nothing, whatever
//! was changed in it. An entry is written beside its place and renamed, so that it is whole or not there. The folders of
//! the last few programs stay, older ones go. It leaves out a limit on size: an experiment keeps a few megabytes at most.

use crate::arguments::Reproduce;
use crate::ending::{Failure, say};
use clearway_experiment::reproduce::{Store, kept};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders of other programs that stay.
const OTHERS_KEPT: usize = 3;
/// Seconds that each experiment took the last time it ran from the beginning, in any program.
const TIMES: &str = "times";

/// The folder of this program.
#[derive(Debug)]
pub(crate) struct Cache {
    root: PathBuf,
    program: PathBuf,
    fresh: bool,
}

/// The part of it that belongs to one experiment.
#[derive(Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    fresh: bool,
}

impl Cache {
    /// Opens the folder that the arguments ask for. Without one that can be written nothing is kept: that is said, and is a
    /// failure only where the folder was named.
    pub(crate) fn open(arguments: &Reproduce) -> Result<Option<Self>, Failure> {
        if arguments.no_cache {
            return Ok(None);
        }
        let named = arguments.cache.clone();
        let Some(root) = named
            .clone()
            .or_else(|| user_folder().map(|f| f.join("clearway")))
        else {
            say("note: this system names no folder for caches; nothing is kept (--cache DIR names one)\n");
            return Ok(None);
        };
        let opened = digest_of_program().and_then(|digest| {
            // The program's own folder comes with its first result: looking leaves nothing behind.
            fs::create_dir_all(&root)?;
            Ok(root.join(digest))
        });
        match opened {
            Ok(program) => {
                let fresh = arguments.fresh;
                let cache = Self { root, program, fresh };
                cache.forget_others();
                Ok(Some(cache))
            }
            Err(why) if named.is_some() => Err(Failure::unwritable(&root, &why)),
            Err(why) => {
                say(&format!("note: nothing is kept: {}: {why}\n", root.display()));
                Ok(None)
            }
        }
    }

    /// The entries of one experiment.
    pub(crate) fn shelf(&self, experiment: &str) -> Shelf {
        Shelf {
            folder: self.program.join(experiment),
            fresh: self.fresh,
        }
    }

    /// Seconds that an experiment took the last time, by its name and its seeds.
    pub(crate) fn times(&self) -> BTreeMap<(String, u32), f64> {
        let text = fs::read_to_string(self.root.join(TIMES)).unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.split(' ');
            let key = (words.next()?.to_owned(), words.next()?.parse().ok()?);
            let seconds: f64 = words.next()?.parse().ok()?;
            (seconds.is_finite() && seconds >= 0.0).then_some((key, seconds))
        };
        text.lines().filter_map(line).collect()
    }

    /// Remembers what an experiment took.
    pub(crate) fn took(&self, experiment: &str, seeds: u32, seconds: f64) {
        let mut times = self.times();
        times.insert((experiment.to_owned(), seeds), seconds);
        let lines = times
            .iter()
            .map(|((name, seeds), s)| format!("{name} {seeds} {s:.1}\n"));
        // It is for estimates only: that it cannot be kept is not the news.
        let _ = put(&self.root.join(TIMES), lines.collect::<String>().as_bytes());
    }

    /// Removes the folders of all but the last few other programs.
    fn forget_others(&self) {
        let Ok(entries) = fs::read_dir(&self.root) else {
            return;
        };
        let mut others: Vec<(std::time::SystemTime, PathBuf)> = entries
            .filter_map(Result::ok)
            .map(|e| e.path())
            // Nothing that this program did not make is touched.
            .filter(|p| *p != self.program && p.is_dir() && is_digest(p))
            .filter_map(|p| Some((fs::metadata(&p).ok()?.modified().ok()?, p)))
            .collect();
        others.sort();
        others.reverse();
        for (_, folder) in others.iter().skip(OTHERS_KEPT) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl Shelf {
    /// Runs of this experiment that are kept.
    pub(crate) fn runs(&self) -> usize {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.filter(|name| name.starts_with("run-")).count()
    }
}

impl Store for Shelf {
    fn get(&self, name: &str) -> Option<Vec<u8>> {
        if self.fresh {
            return None;
        }
        match fs::read(self.folder.join(name)) {
            Ok(bytes) => Some(bytes),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => {
                self.unusable(name, &why.to_string());
                None
            }
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let place = self.folder.join(name);
        let done = fs::create_dir_all(&self.folder).and_then(|()| put(&place, bytes));
        if let Err(why) = done {
            self.unusable(name, &format!("it cannot be kept: {why}"));
        }
    }

    fn unusable(&self, name: &str, why: &str) {
        let place = self.folder.join(name);
        say(&format!(
            "note: a kept result is not used: {why} ({})\n",
            place.display()
        ));
    }
}

/// Writes beside the place and renames.
fn put(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = place
        .file_name()
        .map_or_else(Default::default, |n| n.to_string_lossy());
    // Two programs may keep the same result at the same time.
    let beside = place.with_file_name(format!(".{name}.{}", std::process::id()));
    let done = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, place));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

fn is_digest(path: &Path) -> bool {
    let name = path
        .file_name()
        .map_or_else(Default::default, |n| n.to_string_lossy());
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Everything that a result may depend on beside the arguments is part of the executable: code, scenarios, data files.
fn digest_of_program() -> io::Result<String> {
    let bytes = fs::read(std::env::current_exe()?)?;
    Ok(kept::digest(&[&bytes]))
}

/// Where this system wants caches to be.
fn user_folder() -> Option<PathBuf> {
    let folder = |variable: &str| {
        let path = PathBuf::from(std::env::var_os(variable)?);
        path.is_absolute().then_some(path)
    };
    if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        Some(folder("HOME")?.join("Library/Caches"))
    } else {
        // XDG Base Directory Specification: a relative path counts as unset.
        folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> Cache {
        let own = format!("clearway-cache-test-{}-{name}", std::process::id());
        let root = std::env::temp_dir().join(own);
        let _ = fs::remove_dir_all(&root);
        let program = root.join("a".repeat(64));
        fs::create_dir_all(&program).expect("a folder");
        Cache {
            root,
            program,
            fresh: false,
        }
    }

    /// A test that failed leaves its folder to be looked at.
    fn done(folder: &Path) {
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn what_is_put_is_found_and_leaves_nothing_beside() {
        let shelf = cache("put").shelf("x");
        assert_eq!(shelf.get("run-1"), None);
        shelf.put("run-1", b"abc");
        shelf.put("run-1", b"abcd");
        shelf.put("findings-1", b"");
        assert_eq!(shelf.get("run-1").as_deref(), Some(&b"abcd"[..]));
        assert_eq!(shelf.runs(), 1);
        assert_eq!(fs::read_dir(&shelf.folder).expect("it").count(), 2);
        let fresh = Shelf {
            folder: shelf.folder.clone(),
            fresh: true,
        };
        assert_eq!(fresh.get("run-1"), None);
        done(&shelf.folder);
    }

    #[test]
    fn older_programs_go_and_nothing_else_does() {
        let cache = cache("others");
        for letter in ["b", "c", "d", "e", "f"] {
            fs::create_dir_all(cache.root.join(letter.repeat(64)).join("x")).expect("a folder");
        }
        fs::create_dir_all(cache.root.join("photographs")).expect("a folder");
        cache.forget_others();
        let left = fs::read_dir(&cache.root).expect("it").count();
        assert_eq!(left, 1 + OTHERS_KEPT + 1);
        assert!(cache.program.is_dir() && cache.root.join("photographs").is_dir());
        done(&cache.root);
    }

    #[test]
    fn times_are_remembered_and_nonsense_is_not_read() {
        let cache = cache("times");
        cache.took("t4-qos", 5, 12.34);
        cache.took("t4-qos", 5, 13.0);
        cache.took("backplane", 20, 2.0);
        let times = cache.times();
        assert_eq!(times.len(), 2);
        assert_eq!(times[&("t4-qos".to_owned(), 5)], 13.0);
        fs::write(cache.root.join(TIMES), "a b c\nx 1 NaN\n\nx 1\ny 2 3.5\n").expect("it");
        assert_eq!(cache.times().len(), 1);
        done(&cache.root);
    }
}
