//! The folder that `--out` names: made before anything runs, so that a wrong path costs no hour.
//!
//! Each file is written beside its place and then moved there: what stands in the folder is whole, also after an
//! interruption. Files of an earlier run are replaced, others are left alone.

use crate::ending::Failure;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder that can be written.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

/// A file that is not in its place yet; dropped unfinished it disappears.
#[derive(Debug)]
pub(crate) struct Part {
    place: PathBuf,
    beside: PathBuf,
    finished: bool,
}

impl Folder {
    /// Makes the folder, and tries whether it takes a file.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(path).map_err(|e| Failure::unwritable(path, &e))?;
        let folder = Self {
            path: path.to_path_buf(),
        };
        folder
            .begin("trial")
            .map_err(|_| Failure::Environment(format!("cannot write into {}", path.display())))?;
        Ok(folder)
    }

    /// Begins a file; it appears under its name when it is finished.
    pub(crate) fn begin(&self, name: &str) -> Result<(Part, File), Failure> {
        let (place, beside) = (self.path.join(name), self.path.join(format!(".{name}.part")));
        let file = File::create(&beside).map_err(|e| Failure::unwritable(&place, &e))?;
        Ok((
            Part {
                place,
                beside,
                finished: false,
            },
            file,
        ))
    }

    /// Writes one file.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let (part, mut file) = self.begin(name)?;
        io_write(&mut file, content).map_err(|e| Failure::unwritable(&part.place, &e))?;
        part.finish()
    }

    /// For messages.
    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

fn io_write(file: &mut File, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    file.write_all(content)
}

impl Part {
    /// Where it will be.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Puts the file into its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        fs::rename(&self.beside, &self.place).map_err(|e| Failure::unwritable(&self.place, &e))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.finished {
            // It is of no use to anybody; that it cannot be removed is not the news.
            let _ = fs::remove_file(&self.beside);
        }
    }
}
