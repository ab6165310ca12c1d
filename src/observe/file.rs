//! The JSON-lines sink: one entry a line, a new file when one is full.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use crate::model::{ApiError, Code};

pub struct FileSink {
    path: PathBuf,
    max_bytes: u64,
    /// `None` after a failure; the next entry tries again.
    file: Option<File>,
    bytes: u64,
    failed: u64,
}

impl FileSink {
    pub fn open(path: &str, max_bytes: u64) -> Result<FileSink, ApiError> {
        let mut sink = FileSink { path: path.into(), max_bytes, file: None, bytes: 0, failed: 0 };
        let refused =
            |_| ApiError::at(Code::Argument, "/audit/sink/file", "The audit file cannot be opened for appending.");
        sink.reopen().map_err(refused)?;
        Ok(sink)
    }

    fn reopen(&mut self) -> std::io::Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        self.bytes = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    /// Writes one line. A failure is described, for the log, with the number of entries lost so far.
    pub fn write(&mut self, line: &[u8]) -> Option<String> {
        match self.try_write(line) {
            Ok(()) => None,
            Err(error) => {
                self.failed += 1;
                self.file = None;
                Some(format!(
                    "The audit file could not be written ({}); entries lost so far: {}.",
                    error.kind(),
                    self.failed
                ))
            }
        }
    }

    fn try_write(&mut self, line: &[u8]) -> std::io::Result<()> {
        let size = line.len() as u64 + 1;
        if self.bytes > 0 && self.bytes + size > self.max_bytes {
            self.rotate()?;
        }
        if self.file.is_none() {
            self.reopen()?;
        }
        if let Some(file) = &mut self.file {
            // One write call, so that a line is whole or absent even if the process dies.
            let mut whole = Vec::with_capacity(line.len() + 1);
            whole.extend_from_slice(line);
            whole.push(b'\n');
            file.write_all(&whole)?;
            self.bytes += size;
        }
        Ok(())
    }

    /// Moves the full file to the first free number: rotation never deletes what it recorded.
    fn rotate(&mut self) -> std::io::Result<()> {
        self.file = None;
        let free = (1u32..).map(|n| format!("{}.{n}", self.path.display())).find(|name| !PathBuf::from(name).exists());
        if let Some(name) = free {
            std::fs::rename(&self.path, name)?;
        }
        self.reopen()
    }
}
