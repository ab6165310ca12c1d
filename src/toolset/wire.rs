//! Wire names: what a model calls a capability (AS-ID-002, AS-WIRE-001, AS-WIRE-002).
//!
//! A name is read back through the catalog's map alone (AS-WIRE-003); that a plain name could also be decoded is what
//! makes it unique: an id that would not come back gets a hash.

use std::collections::HashMap;

use serde_json::json;

use crate::json;

/// What every provider takes.
pub const MAX_NAME: usize = 64;
/// Hexadecimal digits of the hash; the second and third are for names that clash all the same.
const DIGITS: [usize; 4] = [0, 8, 16, 32];

/// What a name stands for.
pub struct Subject<'a> {
    pub capability_id: &'a str,
    pub instance_id: &'a str,
    pub component_type: &'a str,
}

/// One name for each subject: letters, digits, `_` and `-`, at most [`MAX_NAME`] of them, no two equal when case is
/// folded, whatever the order of the subjects.
pub fn names(subjects: &[Subject]) -> Vec<String> {
    let instances = tally(subjects.iter().map(|subject| subject.capability_id));
    let plain: Vec<Plain> =
        subjects.iter().map(|subject| Plain::new(subject, instances[subject.capability_id] > 1)).collect();
    if plain.iter().all(|plain| plain.unmistakable) && surely_differ(&plain) {
        return plain.into_iter().map(|plain| plain.name).collect();
    }
    let pairs = tally(subjects.iter().map(|subject| (subject.capability_id, subject.instance_id)));
    let mut steps: Vec<usize> = plain.iter().map(|plain| usize::from(!plain.unmistakable)).collect();
    loop {
        let name = |((subject, plain), step): ((&Subject, &Plain), &usize)| match DIGITS[*step] {
            0 => plain.name.clone(),
            digits => {
                // Procedures of two component types may share id and instance.
                let shared = pairs[&(subject.capability_id, subject.instance_id)] > 1;
                plain.hashed(&hash(subject, shared)[..digits])
            }
        };
        let names: Vec<String> = subjects.iter().zip(&plain).zip(&steps).map(name).collect();
        let folded: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let uses = tally(folded.iter().map(String::as_str));
        let mut clashed = false;
        for (step, folded) in steps.iter_mut().zip(&folded) {
            if uses[folded.as_str()] > 1 && *step + 1 < DIGITS.len() {
                *step += 1;
                clashed = true;
            }
        }
        if !clashed {
            return names;
        }
    }
}

fn tally<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut uses = HashMap::with_capacity(keys.size_hint().0);
    for key in keys {
        *uses.entry(key).or_insert(0) += 1;
    }
    uses
}

/// Whether no two names fold together, by a hash of each: most catalogs need no closer look.
fn surely_differ(names: &[Plain]) -> bool {
    let fold = |plain: &Plain| json::fnv1a64(plain.name.to_ascii_lowercase().as_bytes());
    let mut hashes: Vec<u64> = names.iter().map(fold).collect();
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

struct Plain {
    name: String,
    /// The id could be read back from the name, and the name be sent as it is.
    unmistakable: bool,
}

impl Plain {
    /// `:` as `_`, `.` as `__`, anything that may not be sent as `_`; of several instances each says which it is.
    fn new(subject: &Subject, repeated: bool) -> Plain {
        let id = subject.capability_id;
        let mut name = String::with_capacity(MAX_NAME);
        for char in id.chars() {
            match char {
                '.' => name.push_str("__"),
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => name.push(char),
                _ => name.push('_'),
            }
        }
        let path = id.split_once(':').map_or(id, |(_, path)| path);
        let comes_back = name[id.len() - path.len()..].replace("__", ".") == path;
        if repeated {
            name.push_str("_at_");
            name.push_str(subject.instance_id);
        }
        Plain { unmistakable: comes_back && name.len() <= MAX_NAME, name }
    }

    fn hashed(&self, hash: &str) -> String {
        let kept = self.name.len().min(MAX_NAME - 1 - hash.len());
        format!("{}_{hash}", &self.name[..kept])
    }
}

fn hash(subject: &Subject, shared: bool) -> String {
    let mut parts = json!([subject.capability_id, subject.instance_id]);
    if let (true, Some(parts)) = (shared, parts.as_array_mut()) {
        parts.push(subject.component_type.into());
    }
    json::digest_value(&parts)["sha256:".len()..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    /// SplitMix64: the same ids in every run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) % n as u64) as usize
        }

        fn text(&mut self, alphabet: &[&str], len: usize) -> String {
            (0..len).map(|_| alphabet[self.below(alphabet.len())]).collect()
        }

        /// A valid id, from alphabets small enough that they clash often.
        fn id(&mut self) -> String {
            let len = 1 + self.below(4) * self.below(30);
            match self.below(2) {
                0 => {
                    let types = self.text(&["a", "b", "-", "0", ".b"], len);
                    let name = self.text(&["a", "A", "b", "B", "1"], self.0 as usize % 4 + 1);
                    format!("view:a{types}.x{name}")
                }
                _ => format!("domain:{}", self.text(&["a", "A", "_", "__", ".", ":", "/", "é", "_at_", "😀"], len)),
            }
        }

        fn instance(&mut self) -> String {
            let len = 1 + self.below(3);
            self.text(&["a", "A", "_", "-", "at", "1"], len)
        }
    }

    fn named(set: &[(String, String, String)]) -> Vec<String> {
        let subjects: Vec<Subject> = set
            .iter()
            .map(|(id, instance, component)| Subject {
                capability_id: id,
                instance_id: instance,
                component_type: component,
            })
            .collect();
        names(&subjects)
    }

    fn one(id: &str) -> String {
        named(&[(id.into(), "default".into(), "c".into())]).remove(0)
    }

    /// AS-WIRE-001, AS-WIRE-002, AS-WIRE-003: over random valid ids, every name can be sent, no two are one when case
    /// is folded, and each subject keeps its name whatever the order.
    #[test]
    fn names_are_legal_unique_and_independent_of_order() {
        let mut chance = Chance(1);
        for _ in 0..400 {
            let mut set = BTreeMap::new();
            for _ in 0..1 + chance.below(40) {
                let id = chance.id();
                assert!(id.len() > 128 || crate::model::id::is_capability_id(&id), "{id}");
                let component = chance.text(&["c", "d"], 1);
                set.insert((id, chance.instance(), component), ());
            }
            let mut set: Vec<_> = set.into_keys().filter(|(id, ..)| id.len() <= 128).collect();
            let before: BTreeMap<_, _> = set.iter().cloned().zip(named(&set)).collect();
            let folded: HashSet<String> = before.values().map(|name| name.to_ascii_lowercase()).collect();
            assert_eq!(folded.len(), set.len(), "{before:?}");
            for name in before.values() {
                assert!(name.len() <= MAX_NAME && name.starts_with(['v', 'd']), "{name}");
                assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'), "{name}");
            }
            for at in (1..set.len()).rev() {
                set.swap(at, chance.below(at + 1));
            }
            let after: BTreeMap<_, _> = set.iter().cloned().zip(named(&set)).collect();
            assert_eq!(before, after);
        }
    }

    /// AS-WIRE-002: whether an id needs a hash is decided by the id where it can be: its neighbours do not move it.
    #[test]
    fn a_lossy_id_carries_its_hash_alone_as_in_company() {
        for lossy in ["domain:a__b", "domain:a_.b", "domain:a:b", "domain:a/b", "domain:é", "domain:😀"] {
            let alone = one(lossy);
            let (plain, hash) = alone.rsplit_once('_').expect("a hash");
            assert!(plain.starts_with("domain_") && hash.len() == 8, "{alone}");
            assert!(hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{alone}");
            let company = [lossy, "domain:a.b", "domain:a_b", "view:a.b"].map(|id| (id.into(), "x".into(), "c".into()));
            let names = named(&company);
            assert_eq!(names[1..], ["domain_a__b", "domain_a_b", "view_a__b"]);
            let instance = [(lossy.into(), "x".into(), "c".into())];
            assert_eq!(names[0], named(&instance)[0]);
        }
    }

    /// AS-ID-002: what needs no hash has none.
    #[test]
    fn plain_names() {
        let expected = [
            ("view:my-devices.table.sortBy", "view_my-devices__table__sortBy"),
            ("domain:get_user_details", "domain_get_user_details"),
            ("domain:_x", "domain__x"),
            ("domain:a._b", "domain_a___b"),
        ];
        for (id, name) in expected {
            assert_eq!(one(id), name);
        }
        let doors = ["one", "two"].map(|instance| ("view:door.open".into(), instance.into(), "door".into()));
        assert_eq!(named(&doors), ["view_door__open_at_one", "view_door__open_at_two"]);
    }

    /// AS-WIRE-002: a name that another one's hash would give, and one that another one's instance would give.
    #[test]
    fn a_plain_name_never_meets_a_made_one() {
        let taken = one("domain:a__b");
        let impostor = format!("domain:{}", &taken["domain_".len()..].replacen("a__b", "a.b", 1));
        let set = ["domain:a__b".to_string(), impostor].map(|id| (id, "default".into(), "c".into()));
        let names = named(&set);
        assert_ne!(names[0], names[1]);
        let set = [("domain:x", "m"), ("domain:x", "n"), ("domain:x_at_m", "m")];
        let names = named(&set.map(|(id, instance)| (id.into(), instance.into(), "c".into())));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3);
        assert_eq!(names[1], "domain_x_at_n");
    }

    /// AS-WIRE-001: 64 characters stay, 65 are cut with a hash.
    #[test]
    fn length() {
        let fits = format!("domain:{}", "x".repeat(MAX_NAME - "domain_".len()));
        assert_eq!(one(&fits).len(), MAX_NAME);
        assert!(one(&fits).ends_with('x'));
        let long = one(&format!("{fits}x"));
        assert_eq!(long.len(), MAX_NAME);
        assert_eq!(long.as_bytes()[MAX_NAME - 9], b'_');
    }
}
