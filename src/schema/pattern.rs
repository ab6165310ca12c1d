//! `pattern`: ECMAScript regular expressions, run by a linear-time engine.
//!
//! The engine reads another dialect, so every pattern is rewritten: character classes become explicit ranges of code
//! points with ECMAScript's meaning (`\d` and `\w` are ASCII, `\s` and `.` know the Unicode line and space characters),
//! and all that the engine must not interpret in its own way is escaped. What needs backtracking (lookaround,
//! backreferences) is refused. As in ECMAScript outside its `u` mode, an escaped punctuation character and a lone brace
//! stand for themselves.

pub(super) use regex_lite::Regex;
use regex_lite::RegexBuilder;
use std::fmt::Write;
use std::sync::OnceLock;
use unicode_general_category::{GeneralCategory, get_general_category};

/// Bytes of the compiled program. A search costs at most this program's size times the length of the text.
const MAX_PROGRAM: usize = 1 << 20;
/// Bytes of the rewritten pattern, which large Unicode classes swell.
const MAX_REWRITTEN: usize = 1 << 18;

/// Compiles a pattern for unanchored search. Errors: advice for the schema's author.
pub(super) fn compile(pattern: &str) -> Result<Regex, &'static str> {
    let rewritten = Rewriter { rest: pattern, out: String::new() }.rewrite()?;
    let refused = "Use a pattern that compiles, and a smaller one if it is large.";
    RegexBuilder::new(&rewritten).size_limit(MAX_PROGRAM).build().map_err(|_| refused)
}

/// A set of code points as inclusive ranges, in any order.
type Set = Vec<(u32, u32)>;

const LAST: u32 = char::MAX as u32;
const DIGITS: &[(u32, u32)] = &[(0x30, 0x39)];
const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
const SPACE: &[(u32, u32)] = &[
    (0x09, 0x0d),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];
const LINE_ENDS: &[(u32, u32)] = &[(0x0a, 0x0a), (0x0d, 0x0d), (0x2028, 0x2029)];

fn complement(set: &[(u32, u32)]) -> Set {
    let mut sorted = set.to_vec();
    sorted.sort_unstable();
    let mut gaps = Vec::new();
    let mut next = 0;
    for (first, last) in sorted {
        if first > next {
            gaps.push((next, first - 1));
        }
        next = next.max(last + 1);
    }
    if next <= LAST {
        gaps.push((next, LAST));
    }
    gaps
}

struct Rewriter<'p> {
    rest: &'p str,
    out: String,
}

type Step<T> = Result<T, &'static str>;

impl Rewriter<'_> {
    fn rewrite(mut self) -> Step<String> {
        // Whether a quantifier may follow.
        let mut atom = false;
        while let Some(c) = self.next() {
            let quantified = atom;
            atom = false;
            match c {
                '^' => self.out.push_str("\\A"),
                '$' => self.out.push_str("\\z"),
                '|' => self.out.push('|'),
                '(' => self.open_group()?,
                ')' => {
                    self.out.push(')');
                    atom = true;
                }
                '*' | '+' | '?' => self.quantify(quantified, c.encode_utf8(&mut [0; 4]))?,
                '{' if self.count_length().is_some() => {
                    let (count, rest) = self.rest.split_at(self.count_length().unwrap_or_default());
                    self.rest = rest;
                    self.quantify(quantified, &format!("{{{count}"))?;
                }
                '\\' if self.eat("b") => self.out.push_str("\\b"),
                '\\' if self.eat("B") => self.out.push_str("\\B"),
                _ => {
                    let set = match c {
                        '.' => complement(LINE_ENDS),
                        '[' => self.class()?,
                        '\\' => self.escape()?.into_set(),
                        _ => Item::Char(c as u32).into_set(),
                    };
                    self.push_set(&set);
                    atom = true;
                }
            }
            if self.out.len() > MAX_REWRITTEN {
                return Err("Use a smaller pattern: its character classes are too large.");
            }
        }
        Ok(self.out)
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Groups only group: nothing can refer back to what they captured.
    fn open_group(&mut self) -> Step<()> {
        let named = self.rest.starts_with("?<") && !self.rest.starts_with("?<=") && !self.rest.starts_with("?<!");
        if named {
            let name_end = self.rest.find('>').ok_or("Close the name of the group in the pattern.")?;
            self.rest = &self.rest[name_end + 1..];
        } else if !self.eat("?:") && self.rest.starts_with('?') {
            return Err("Use a pattern without lookahead, lookbehind and inline flags.");
        }
        self.out.push_str("(?:");
        Ok(())
    }

    /// How long the rest of `{n}`, `{n,}` or `{n,m}` is, when that is what follows the brace.
    fn count_length(&self) -> Option<usize> {
        let (count, _) = self.rest.split_once('}')?;
        let (least, most) = count.split_once(',').unwrap_or((count, "0"));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        (!least.is_empty() && digits(least) && digits(most)).then_some(count.len() + 1)
    }

    /// Laziness changes what is captured, never whether there is a match.
    fn quantify(&mut self, quantified: bool, quantifier: &str) -> Step<()> {
        self.eat("?");
        self.out.push_str(quantifier);
        if quantified { Ok(()) } else { Err("Put every quantifier of the pattern behind what it repeats.") }
    }

    /// A class; the opening bracket is taken.
    fn class(&mut self) -> Step<Set> {
        let negated = self.eat("^");
        let mut set = Set::new();
        while !self.eat("]") {
            let first = self.class_item()?;
            // A hyphen beside a class escape or at the end is a hyphen.
            let range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            match first {
                Item::Char(first) if range => {
                    self.eat("-");
                    match self.class_item()? {
                        Item::Char(last) if first <= last => set.push((first, last)),
                        Item::Char(_) => return Err("Give the ranges of the pattern's classes in ascending order."),
                        Item::Set(other) => {
                            set.extend([(first, first), (0x2d, 0x2d)]);
                            set.extend(other);
                        }
                    }
                }
                item => set.extend(item.into_set()),
            }
        }
        Ok(if negated { complement(&set) } else { set })
    }

    fn class_item(&mut self) -> Step<Item> {
        match self.next() {
            Some('\\') if self.eat("b") => Ok(Item::Char(0x08)),
            Some('\\') => self.escape(),
            Some(c) => Ok(Item::Char(c as u32)),
            None => Err("Close every character class of the pattern."),
        }
    }

    /// An escape that stands for characters; the backslash is taken.
    fn escape(&mut self) -> Step<Item> {
        let unknown = Err("Use only the escapes of ECMAScript in the pattern, and no backreferences.");
        Ok(match self.next() {
            Some('d') => Item::Set(DIGITS.to_vec()),
            Some('D') => Item::Set(complement(DIGITS)),
            Some('w') => Item::Set(WORD.to_vec()),
            Some('W') => Item::Set(complement(WORD)),
            Some('s') => Item::Set(SPACE.to_vec()),
            Some('S') => Item::Set(complement(SPACE)),
            Some('p') => Item::Set(self.property()?),
            Some('P') => Item::Set(complement(&self.property()?)),
            Some('t') => Item::Char(0x09),
            Some('n') => Item::Char(0x0a),
            Some('v') => Item::Char(0x0b),
            Some('f') => Item::Char(0x0c),
            Some('r') => Item::Char(0x0d),
            Some('0') if !self.rest.starts_with(|c: char| c.is_ascii_digit()) => Item::Char(0),
            Some('c') => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => Item::Char(letter as u32 % 32),
                _ => return unknown,
            },
            Some('x') => Item::Char(self.hexadecimal(2)?),
            Some('u') => Item::Char(self.code_point()?),
            Some(c) if c.is_ascii_punctuation() => Item::Char(c as u32),
            _ => return unknown,
        })
    }

    fn hexadecimal(&mut self, digits: usize) -> Step<u32> {
        let malformed = "Write the escapes of the pattern with as many hexadecimal digits as they need.";
        let (number, rest) = self.rest.split_at_checked(digits).ok_or(malformed)?;
        self.rest = rest;
        let whole = number.bytes().all(|b| b.is_ascii_hexdigit());
        u32::from_str_radix(number, 16).ok().filter(|_| whole).ok_or(malformed)
    }

    /// `\uXXXX`, a surrogate pair of them, or `\u{X…}`.
    fn code_point(&mut self) -> Step<u32> {
        if self.eat("{") {
            let digits = self.rest.find('}').filter(|digits| (1..=8).contains(digits)).unwrap_or(usize::MAX);
            let code = self.hexadecimal(digits)?;
            self.eat("}");
            return if code <= LAST { Ok(code) } else { Err("Use only code points up to 10FFFF in the pattern.") };
        }
        let unit = self.hexadecimal(4)?;
        if (0xd800..0xdc00).contains(&unit) && self.eat("\\u") {
            let low = self.hexadecimal(4)?;
            if (0xdc00..0xe000).contains(&low) {
                return Ok(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            }
        }
        if (0xd800..0xe000).contains(&unit) { Err("Use surrogates in pairs in the pattern.") } else { Ok(unit) }
    }

    /// `{name}` or `{General_Category=name}` behind `\p`.
    fn property(&mut self) -> Step<Set> {
        let unknown = "Use only general categories, Any and ASCII in \\p{…}.";
        let rest = self.rest.strip_prefix('{').ok_or(unknown)?;
        let (name, rest) = rest.split_once('}').ok_or(unknown)?;
        self.rest = rest;
        property(name).ok_or(unknown)
    }

    fn push_set(&mut self, set: &[(u32, u32)]) {
        let mut ranges = String::new();
        for &(first, last) in set {
            // No text holds a surrogate, and the engine knows none.
            let first = if (0xd800..0xe000).contains(&first) { 0xe000 } else { first };
            let last = if (0xd800..0xe000).contains(&last) { 0xd7ff } else { last };
            if first <= last {
                push_code_point(&mut ranges, first);
                if first < last {
                    ranges.push('-');
                    push_code_point(&mut ranges, last);
                }
            }
        }
        if ranges.is_empty() {
            self.out.push_str("[^\\x00-\\u{10FFFF}]");
        } else {
            self.out.extend(["[", &ranges, "]"]);
        }
    }
}

fn push_code_point(out: &mut String, code: u32) {
    match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() || code > 0x7f => out.push(c),
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{{{code:x}}}");
        }
    }
}

/// What an escape or a class member stands for.
enum Item {
    Char(u32),
    Set(Set),
}

impl Item {
    fn into_set(self) -> Set {
        match self {
            Item::Char(code) => vec![(code, code)],
            Item::Set(set) => set,
        }
    }
}

/// The code points with a property, among those that need no tables beyond the general category.
fn property(name: &str) -> Option<Set> {
    match name {
        "Any" => return Some(vec![(0, LAST)]),
        "ASCII" => return Some(vec![(0, 0x7f)]),
        _ => {}
    }
    let name = name.strip_prefix("General_Category=").or_else(|| name.strip_prefix("gc=")).unwrap_or(name);
    let (_, short) = CATEGORIES.iter().find(|(long, short)| *long == name || *short == name)?;
    let belongs = |category: &str| match *short {
        "LC" => matches!(category, "Lu" | "Ll" | "Lt"),
        short => category.starts_with(short),
    };
    let runs = category_runs().iter();
    Some(runs.filter(|run| belongs(run.category.abbreviation())).map(|run| (run.first, run.last)).collect())
}

/// Neighbouring code points of one category.
struct Run {
    first: u32,
    last: u32,
    category: GeneralCategory,
}

/// All of them, made once a process, by the first pattern that asks.
fn category_runs() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let mut runs: Vec<Run> = Vec::new();
        for c in '\0'..=char::MAX {
            let (code, category) = (c as u32, get_general_category(c));
            match runs.last_mut() {
                Some(run) if run.category == category => run.last = code,
                _ => runs.push(Run { first: code, last: code, category }),
            }
        }
        runs
    })
}

/// General categories and their groups, long and short names (Unicode Standard Annex 44, table 12).
const CATEGORIES: &[(&str, &str)] = &[
    ("Letter", "L"),
    ("Cased_Letter", "LC"),
    ("Uppercase_Letter", "Lu"),
    ("Lowercase_Letter", "Ll"),
    ("Titlecase_Letter", "Lt"),
    ("Modifier_Letter", "Lm"),
    ("Other_Letter", "Lo"),
    ("Mark", "M"),
    ("Nonspacing_Mark", "Mn"),
    ("Spacing_Mark", "Mc"),
    ("Enclosing_Mark", "Me"),
    ("Number", "N"),
    ("Decimal_Number", "Nd"),
    ("Letter_Number", "Nl"),
    ("Other_Number", "No"),
    ("Punctuation", "P"),
    ("Connector_Punctuation", "Pc"),
    ("Dash_Punctuation", "Pd"),
    ("Open_Punctuation", "Ps"),
    ("Close_Punctuation", "Pe"),
    ("Initial_Punctuation", "Pi"),
    ("Final_Punctuation", "Pf"),
    ("Other_Punctuation", "Po"),
    ("Symbol", "S"),
    ("Math_Symbol", "Sm"),
    ("Currency_Symbol", "Sc"),
    ("Modifier_Symbol", "Sk"),
    ("Other_Symbol", "So"),
    ("Separator", "Z"),
    ("Space_Separator", "Zs"),
    ("Line_Separator", "Zl"),
    ("Paragraph_Separator", "Zp"),
    ("Other", "C"),
    ("Control", "Cc"),
    ("Format", "Cf"),
    ("Surrogate", "Cs"),
    ("Private_Use", "Co"),
    ("Unassigned", "Cn"),
];
