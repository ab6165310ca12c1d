//! The JSON-lines sink: one entry a line, a new file when one is full.
//!
//! Others have their hands on the file as well: an operator moves it away, a disk fills up, another registry writes to
//! it. So each entry first looks whether the file is as the one before left it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::model::{ApiError, Code};

pub struct FileSink {
    path: PathBuf,
    max_bytes: u64,
    /// `None` at first and after a failure: the next entry opens it.
    open: Option<Open>,
    /// No number below this one is free for a full file.
    next: u64,
    /// The file is full and stays where it is, and that has been told.
    overfull: bool,
    lost: u64,
}

struct Open {
    file: File,
    left: Left,
}

/// Which file it was, and how long.
#[derive(PartialEq, Eq)]
struct Left {
    identity: (u64, u64),
    len: u64,
}

impl Left {
    fn of(found: &Metadata) -> Left {
        Left { identity: identity(found), len: found.len() }
    }
}

impl FileSink {
    pub fn open(path: &str, max_bytes: u64) -> std::result::Result<FileSink, ApiError> {
        let sink = FileSink { path: path.into(), max_bytes, open: None, next: 1, overfull: false, lost: 0 };
        let refused =
            |_| ApiError::at(Code::Argument, "/audit/sink/file", "The audit file cannot be opened for appending.");
        sink.reopen(sink.found().as_ref()).map_err(refused)?;
        Ok(sink)
    }

    /// Writes one line. What went wrong is described, for the log; an entry that was lost is counted there.
    pub fn write(&mut self, line: &[u8]) -> Option<String> {
        let mut found = self.found();
        let mut told = None;
        if found.as_ref().is_some_and(|found| self.is_full(found, line)) {
            match self.rotate() {
                Ok(()) => {
                    found = None;
                    self.overfull = false;
                }
                // Too large a file is better than an entry that is nowhere.
                Err(error) if !std::mem::replace(&mut self.overfull, true) => {
                    told = Some(format!("The audit file is full and cannot be moved away ({}).", error.kind()));
                }
                Err(_) => {}
            }
        }
        match self.append(line, found.as_ref()) {
            Ok(()) => told,
            Err(error) => {
                self.lost += 1;
                let (why, lost) = (error.kind(), self.lost);
                Some(format!("The audit file could not be written ({why}); entries lost so far: {lost}."))
            }
        }
    }

    fn found(&self) -> Option<Metadata> {
        std::fs::metadata(&self.path).ok()
    }

    fn is_full(&self, found: &Metadata, line: &[u8]) -> bool {
        found.is_file() && found.len() > 0 && found.len() + line.len() as u64 + 1 > self.max_bytes
    }

    fn append(&mut self, line: &[u8], found: Option<&Metadata>) -> Result<()> {
        let as_left = |open: &Open| found.is_some_and(|found| !found.is_file() || Left::of(found) == open.left);
        let (mut open, torn) = match self.open.take().filter(as_left) {
            Some(open) => (open, false),
            None => self.reopen(found)?,
        };
        // One write call, so that a line is whole or absent even if the process dies.
        let mut whole = Vec::with_capacity(line.len() + 2);
        if torn {
            whole.push(b'\n');
        }
        whole.extend_from_slice(line);
        whole.push(b'\n');
        open.file.write_all(&whole)?;
        open.left.len += whole.len() as u64;
        self.open = Some(open);
        Ok(())
    }

    /// Opens the file, and tells whether it ends within a line.
    fn reopen(&self, found: Option<&Metadata>) -> Result<(Open, bool)> {
        if found.is_some_and(blocks) {
            return Err(Error::from(ErrorKind::Unsupported));
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let opened = file.metadata()?;
        let torn = opened.is_file() && opened.len() > 0 && last_byte(&self.path).ok() != Some(b'\n');
        Ok((Open { file, left: Left::of(&opened) }, torn))
    }

    /// Moves the full file to a free number: rotation never deletes what it recorded.
    fn rotate(&mut self) -> Result<()> {
        let place = self.claim()?;
        let moved = std::fs::rename(&self.path, &place);
        if moved.is_err() {
            let _ = std::fs::remove_file(&place);
        }
        match moved {
            // Another one has just moved it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            moved => moved,
        }
    }

    /// An empty file of the next free number: what was made here belongs to nobody else who rotates.
    fn claim(&mut self) -> Result<PathBuf> {
        loop {
            let place = PathBuf::from(format!("{}.{}", self.path.display(), self.next));
            match OpenOptions::new().write(true).create_new(true).open(&place) {
                Ok(_) => return Ok(place),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.next += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

fn last_byte(path: &Path) -> Result<u8> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0])
}

#[cfg(unix)]
fn identity(found: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

/// Whether opening or writing could wait for another process, with every call of the registry behind it.
#[cfg(unix)]
fn blocks(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo()
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(not(unix))]
fn blocks(_: &Metadata) -> bool {
    false
}
