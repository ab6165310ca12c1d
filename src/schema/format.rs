//! The five asserted formats. Each check follows its RFC and the JSON Schema test suite; none allocates.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    DateTime,
    Date,
    Uuid,
    Email,
    Uri,
}

impl Format {
    pub(super) fn from_name(name: &str) -> Option<Format> {
        Some(match name {
            "date-time" => Format::DateTime,
            "date" => Format::Date,
            "uuid" => Format::Uuid,
            "email" => Format::Email,
            "uri" => Format::Uri,
            _ => return None,
        })
    }

    pub(super) fn matches(self, text: &str) -> bool {
        match self {
            Format::DateTime => is_date_time(text.as_bytes()),
            Format::Date => is_date(text.as_bytes()),
            Format::Uuid => is_uuid(text.as_bytes()),
            Format::Email => is_email(text),
            Format::Uri => is_uri(text),
        }
    }

    /// What to do about a text that does not match.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Format::DateTime => "Give a date and time with offset, as in RFC 3339 (2024-05-31T12:00:00Z).",
            Format::Date => "Give a date, as in RFC 3339 (2024-05-31).",
            Format::Uuid => "Give a UUID of 32 hexadecimal digits with hyphens.",
            Format::Email => "Give one e-mail address, without a display name.",
            Format::Uri => "Give an absolute URI, as in RFC 3986, with every other character percent-encoded.",
        }
    }
}

/// Takes a decimal number of exactly `digits` digits off the front.
fn take_number(text: &mut &[u8], digits: usize) -> Option<u32> {
    let (number, rest) = text.split_at_checked(digits)?;
    *text = rest;
    number.iter().try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0')))
}

fn take_byte(text: &mut &[u8], accepted: &[u8]) -> Option<u8> {
    let (byte, rest) = text.split_first()?;
    *text = rest;
    accepted.contains(byte).then_some(*byte)
}

/// RFC 3339 full-date.
fn take_date(text: &mut &[u8]) -> Option<()> {
    let year = take_number(text, 4)?;
    take_byte(text, b"-")?;
    let month = take_number(text, 2)?;
    take_byte(text, b"-")?;
    let day = take_number(text, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
}

/// RFC 3339 full-time. A leap second is the last one of a day in UTC.
fn take_time(text: &mut &[u8]) -> Option<()> {
    let hour = take_number(text, 2).filter(|hour| *hour < 24)?;
    take_byte(text, b":")?;
    let minute = take_number(text, 2).filter(|minute| *minute < 60)?;
    take_byte(text, b":")?;
    let second = take_number(text, 2).filter(|second| *second <= 60)?;
    if text.first() == Some(&b'.') {
        let digits = text[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        *text = &text[1 + digits..];
        (digits > 0).then_some(())?;
    }
    let sign = take_byte(text, b"Zz+-")?;
    let mut offset = 0;
    if matches!(sign, b'+' | b'-') {
        let hours = take_number(text, 2).filter(|hours| *hours < 24)?;
        take_byte(text, b":")?;
        let minutes = take_number(text, 2).filter(|minutes| *minutes < 60)?;
        offset = hours * 60 + minutes;
    }
    const DAY: u32 = 24 * 60;
    let local = hour * 60 + minute;
    let utc = if sign == b'+' { local + DAY - offset } else { local + offset } % DAY;
    (second < 60 || utc == DAY - 1).then_some(())
}

fn is_date(mut text: &[u8]) -> bool {
    take_date(&mut text).is_some() && text.is_empty()
}

fn is_date_time(mut text: &[u8]) -> bool {
    let text = &mut text;
    take_date(text).and_then(|()| take_byte(text, b"Tt")).and_then(|_| take_time(text)).is_some() && text.is_empty()
}

/// RFC 9562, in the form 8-4-4-4-12; any version and variant.
fn is_uuid(text: &[u8]) -> bool {
    let fits = |(i, byte): (usize, &u8)| match i {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(fits)
}

/// RFC 5321 Mailbox, with the size limits of section 4.5.3.1.
fn is_email(text: &str) -> bool {
    // A quoted local part may hold an `@`, a domain never does.
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let local_fits = match local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => is_quoted_content(quoted.as_bytes()),
        None => local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom_byte)),
    };
    local.len() <= 64 && local_fits && domain.len() <= 255 && is_mail_domain(domain)
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_quoted_content(mut text: &[u8]) -> bool {
    while let Some((byte, rest)) = text.split_first() {
        text = match (byte, rest) {
            (b'\\', [b' '..=b'~', rest @ ..]) => rest,
            (b'\\' | b'"', _) => return false,
            (b' '..=b'~', rest) => rest,
            _ => return false,
        };
    }
    true
}

fn is_mail_domain(domain: &str) -> bool {
    if let Some(literal) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return match literal.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => literal.parse::<Ipv4Addr>().is_ok(),
        };
    }
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

/// RFC 3986 `URI`: with a scheme, fragment allowed.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = match hierarchy.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority) {
                return false;
            }
            path
        }
        None => hierarchy,
    };
    let scheme_byte = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(scheme_byte)
        && is_encoded(path, b":@/")
        && is_encoded(query, b":@/?")
        && is_encoded(fragment, b":@/?")
}

fn is_authority(authority: &str) -> bool {
    let (user, host_port) = authority.split_once('@').unwrap_or(("", authority));
    let (host_fits, port) = match host_port.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((literal, after)) => (is_ip_literal(literal), after),
        None => {
            let (host, port) = host_port.split_at(host_port.find(':').unwrap_or(host_port.len()));
            (is_encoded(host, b""), port)
        }
    };
    let port_fits =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    is_encoded(user, b":") && host_fits && port_fits
}

fn is_ip_literal(literal: &str) -> bool {
    let Some(future) = literal.strip_prefix(['v', 'V']) else { return literal.parse::<Ipv6Addr>().is_ok() };
    future.split_once('.').is_some_and(|(version, address)| {
        let hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
        hexadecimal(version) && !address.is_empty() && !address.contains('%') && is_encoded(address, b":")
    })
}

/// Unreserved characters, sub-delimiters, percent-encoded bytes, and what else the component allows.
fn is_encoded(text: &str, also: &[u8]) -> bool {
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => after,
            (b, after) if b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(b) || also.contains(b) => after,
            _ => return false,
        };
    }
    true
}
