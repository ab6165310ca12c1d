//! The audit in a file of JSON lines, whatever else is done to the file (AS-OBSV-001, AS-BOUND-003).

mod host_support;

use agent_surface::ffi::*;
use host_support::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

/// An empty folder of one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("audit_file-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn sink(path: &Path) -> Value {
    json!({ "audit": { "sink": { "file": path, "maxBytes": 1024 } } })
}

/// A registry that writes to `path`, and what its log says.
fn writing(path: &Path) -> (as_registry, Arc<Mutex<Vec<String>>>) {
    let said = Arc::<Mutex<Vec<String>>>::default();
    let s = said.clone();
    let log = body(move |ask| s.lock().unwrap().push(ask.context()["message"].as_str().unwrap().to_owned()));
    let (host, _) = host(0, vec![None, None, None, None, None, log]);
    (registry(sink(path), Some(&host)), said)
}

/// Makes two entries.
fn two_entries(registry: as_registry) {
    let registration = register(registry, component(&["go"], &[]), &[binding("go", 0, vec![answers("1")]).0]);
    unregister(registration);
}

/// Every whole line, in the order of the files given; blank and torn ones are none.
fn lines(files: &[PathBuf]) -> Vec<Value> {
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>()).collect()
}

fn numbers(lines: &[Value]) -> Vec<u64> {
    lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

/// AS-OBSV-001: a full file goes to a number of its own, and no entry is lost on the way, also where the number is taken.
#[test]
fn a_full_file_takes_the_next_free_number() {
    let folder = folder("rotation");
    let path = folder.join("audit");
    fs::write(folder.join("audit.1"), "kept").unwrap();
    fs::create_dir(folder.join("audit.2")).unwrap();
    let (registry, said) = writing(&path);
    (0..10).for_each(|_| two_entries(registry));
    end(registry);
    assert_eq!(fs::read_to_string(folder.join("audit.1")).unwrap(), "kept");
    let rotated: Vec<_> = (3..).map(|n| folder.join(format!("audit.{n}"))).take_while(|file| file.exists()).collect();
    assert!(rotated.len() > 2 && rotated.iter().all(|file| fs::metadata(file).unwrap().len() <= 1024));
    let all: Vec<_> = rotated.into_iter().chain([path]).collect();
    assert_eq!(numbers(&lines(&all)), (1..=20).collect::<Vec<_>>());
    assert_eq!(*said.lock().unwrap(), [""; 0]);
}

/// AS-OBSV-001: what comes after the file was moved or deleted is in a new file of its name.
#[test]
fn a_file_moved_away_or_deleted_is_begun_again() {
    let folder = folder("moved");
    let path = folder.join("audit");
    let (registry, said) = writing(&path);
    two_entries(registry);
    fs::rename(&path, folder.join("elsewhere")).unwrap();
    two_entries(registry);
    assert_eq!(numbers(&lines(std::slice::from_ref(&path))), [3, 4]);
    fs::remove_file(&path).unwrap();
    (0..5).for_each(|_| two_entries(registry));
    end(registry);
    assert_eq!(numbers(&lines(&[folder.join("elsewhere")])), [1, 2]);
    let after = numbers(&lines(&files(&folder)[..]));
    assert!((5..=14).all(|seq| after.contains(&seq)), "{after:?}");
    assert_eq!(*said.lock().unwrap(), [""; 0]);
}

/// AS-BOUND-003: half a line, left by a full disk or a process that died, spoils no other entry.
#[test]
fn what_comes_after_half_a_line_begins_a_new_one() {
    let folder = folder("torn");
    let path = folder.join("audit");
    fs::write(&path, "{\"seq\":7,\"at").unwrap();
    let (registry, _) = writing(&path);
    two_entries(registry);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() - 5).unwrap();
    two_entries(registry);
    end(registry);
    assert_eq!(numbers(&lines(std::slice::from_ref(&path))), [1, 3, 4]);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 5);
    assert!(text.ends_with("}\n"));
}

/// AS-BOUND-003: entries that could not be written are counted, and the operator is told; the next ones are tried again.
#[test]
fn losses_are_counted_and_told() {
    let folder = folder("lost");
    let path = folder.join("audit");
    let (registry, said) = writing(&path);
    fs::remove_dir_all(&folder).unwrap();
    two_entries(registry);
    quiesce(registry);
    let told = std::mem::take(&mut *said.lock().unwrap());
    assert!(told.len() == 2 && told[1].ends_with("entries lost so far: 2."), "{told:?}");
    fs::create_dir(&folder).unwrap();
    two_entries(registry);
    end(registry);
    assert_eq!(numbers(&lines(&[path])), [3, 4]);
    assert_eq!(*said.lock().unwrap(), [""; 0]);
}

/// AS-BOUND-003: the same where the disk is full.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let (registry, said) = writing(Path::new("/dev/full"));
    two_entries(registry);
    end(registry);
    let told = said.lock().unwrap();
    assert!(told.len() == 2 && told[1].ends_with("entries lost so far: 2."), "{told:?}");
}

/// AS-BOUND-003: a full file that cannot be moved away grows, and the operator is told once: nothing is lost for it.
#[test]
fn a_file_that_cannot_be_moved_away_grows() {
    let folder = folder("overfull");
    // The longest name there is: nothing fits behind it.
    let path = folder.join("a".repeat(255));
    let (registry, said) = writing(&path);
    (0..10).for_each(|_| two_entries(registry));
    end(registry);
    assert_eq!(numbers(&lines(&[path])), (1..=20).collect::<Vec<_>>());
    let told = said.lock().unwrap();
    assert!(told.len() == 1 && told[0].contains("cannot be moved away"), "{told:?}");
}

/// AS-OBSV-001: what is no file is refused at once, instead of blocking or losing everything later.
#[test]
fn what_cannot_be_appended_to_is_refused() {
    let folder = folder("refused");
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()), "mkfifo");
    for path in [folder.clone(), folder.join("no/where"), pipe] {
        let (code, err) = try_registry(sink(&path), None).unwrap_err();
        assert_eq!((code, err["path"].as_str()), (AS_E_ARGUMENT, Some("/audit/sink/file")), "{path:?}");
    }
}

/// AS-OBSV-001: registries that share a file, and rotate it under each other, lose nothing and mix no lines.
#[test]
fn two_registries_share_a_file() {
    const EACH: u64 = 200;
    let folder = folder("shared");
    let path = folder.join("audit");
    let sharing: Vec<_> = (0..2).map(|_| writing(&path)).collect();
    thread::scope(|scope| {
        for (registry, _) in &sharing {
            scope.spawn(|| (0..EACH / 2).for_each(|_| two_entries(*registry)));
        }
    });
    for (registry, said) in sharing {
        end(registry);
        assert_eq!(*said.lock().unwrap(), [""; 0]);
    }
    let mut seen = numbers(&lines(&files(&folder)));
    seen.sort_unstable();
    let twice: Vec<u64> = (1..=EACH).flat_map(|seq| [seq, seq]).collect();
    assert_eq!(seen, twice);
}
