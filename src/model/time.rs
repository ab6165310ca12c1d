//! Times as the documents write them: ISO-8601 UTC with milliseconds.

/// Milliseconds since the Unix epoch.
pub type UnixMs = i64;

/// Latest time that is written, 9999-12-31T23:59:59.999Z.
const MAX_UNIX_MS: UnixMs = 253_402_300_799_999;

/// `2026-01-01T00:00:00.000Z`; times outside the years 0000 to 9999 are clamped.
pub fn format(unix_ms: UnixMs) -> String {
    let clamped = unix_ms.clamp(-62_167_219_200_000, MAX_UNIX_MS);
    let (days, in_day) = (clamped.div_euclid(86_400_000), clamped.rem_euclid(86_400_000));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second, ms) = (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1000 % 60, in_day % 1000);
    let mut out = *b"0000-00-00T00:00:00.000Z";
    for (end, number) in [(4, year), (7, month), (10, day), (13, hour), (16, minute), (19, second), (23, ms)] {
        let digits = out[..end].iter_mut().rev().take_while(|byte| byte.is_ascii_digit());
        digits.fold(number, |rest, byte| {
            *byte = b'0' + (rest % 10) as u8;
            rest / 10
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads what [`format`] writes; the fraction may be absent or have one to three digits.
pub fn parse(text: &str) -> Option<UnixMs> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-').map(|part| (part.len(), part.parse::<i64>().ok()));
    let mut next = |len: usize| match date.next() {
        Some((n, Some(value))) if n == len && value >= 0 => Some(value),
        _ => None,
    };
    let (year, month, day) = (next(4)?, next(2)?, next(2)?);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = clock.split(':').map(|part| (part.len(), part.parse::<i64>().ok()));
    let mut next = |max: i64| match clock.next() {
        Some((2, Some(value))) if (0..=max).contains(&value) => Some(value),
        _ => None,
    };
    let (hour, minute, second) = (next(23)?, next(59)?, next(59)?);
    if fraction.is_empty() || fraction.len() > 3 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ms = format!("{fraction:0<3}").parse::<i64>().ok()?;
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) != (year, month, day) {
        return None;
    }
    Some(days * 86_400_000 + hour * 3_600_000 + minute * 60_000 + second * 1000 + ms)
}

/// Days since 1970-01-01 of a proleptic Gregorian date, counted in years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(1_767_225_600_000), "2026-01-01T00:00:00.000Z");
        assert_eq!(format(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(parse("2026-01-01T00:00:00.000Z"), Some(1_767_225_600_000));
        assert_eq!(parse("2026-01-01T00:00:00Z"), Some(1_767_225_600_000));
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -1000..146_097 {
            let ms = day * 86_400_000 + 1;
            assert_eq!(parse(&format(ms)), Some(ms));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "",
            "2026-01-01",
            "2026-02-30T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-1-01T00:00:00Z",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
