//! Turns a trigger's text into its meaning and back. Whether a cron expression is good is the engine's to say; here only
//! its number of fields is looked at, because a crontab line in Quartz' place is the commonest slip of all.

use model::{CronDialect, DstRule, Fold, Follow, Gap, JobId, Misfire, MisfireRule, On, Span, Trigger, When};

use super::JobBody;
use super::faults::{Faults, clip};
use super::trigger::{
    AfterForm, AfterMap, Afters, CronForm, CronMap, DelayForm, DelayMap, DstForm, DstMap, DstWord, EveryForm, EveryMap,
    MisfireForm, MisfireMap, MisfireWord, Modifiers, OnWord, OnceForm, OnceMap,
};
use crate::Time;
use crate::errors::Code;

const EVERY_LEAST: Span = Span::millis(100);
const LONGEST: Span = Span::DAY.saturating_mul(3660);

impl JobBody {
    /// The jobs this one follows, by name, each once.
    pub fn follows(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for form in self.after.iter().flat_map(|afters| &afters.0) {
            let name = form.job();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// When it is due, in few words.
    pub fn trigger_summary(&self) -> String {
        let afters = self.after.iter().flat_map(|afters| &afters.0).map(AfterForm::summary);
        let own = self.times_summary().into_iter();
        let all: Vec<String> = own.chain(afters).collect();
        if all.is_empty() { "manual".into() } else { all.join(", ") }
    }

    fn times_summary(&self) -> Option<String> {
        Some(match (&self.cron, &self.every, &self.delay, &self.once) {
            (Some(CronForm::Short(expr)), ..) => format!("cron {expr}"),
            (Some(CronForm::Long(map)), ..) => {
                let zone = map.zone.as_deref().map(|zone| format!(" {zone}")).unwrap_or_default();
                format!("cron {}{zone}", map.expr)
            }
            (None, Some(EveryForm::Short(every)), ..) => format!("every {every}"),
            (None, Some(EveryForm::Long(map)), ..) => format!("every {}", map.every),
            (None, None, Some(DelayForm::Short(delay)), ..) => format!("{delay} after each end"),
            (None, None, Some(DelayForm::Long(map)), ..) => format!("{} after each end", map.delay),
            (None, None, None, Some(OnceForm::Short(at))) => format!("once at {at}"),
            (None, None, None, Some(OnceForm::Long(map))) => format!("once at {}", map.at),
            (None, None, None, None) => return None,
        })
    }

    pub(super) fn to_trigger(&self, resolve: &dyn Fn(&str) -> Option<JobId>, faults: &mut Faults) -> Trigger {
        let given = self.triggers_given();
        if given.len() > 1 {
            let hint = "keep one of them, and make a second job for the other";
            faults.add_hint(Code::BadTrigger, given[1], format!("{} are given together", given.join(" and ")), hint);
        }
        if self.manual == Some(false) {
            faults.add_hint(Code::BadTrigger, "manual", "false says nothing", "leave the key out");
        }
        let (path, when, modifiers) = self.when(faults);
        let mut trigger = modifiers.read(path, when, faults);
        trigger.follows = self.read_follows(resolve, faults);
        trigger
    }

    fn read_follows(&self, resolve: &dyn Fn(&str) -> Option<JobId>, faults: &mut Faults) -> Vec<Follow> {
        let Some(Afters(afters)) = &self.after else { return Vec::new() };
        if self.manual == Some(true) {
            faults.add_hint(Code::BadTrigger, "manual", "after and manual are given together", "keep one of them");
        }
        let alone = afters.len() == 1;
        // Where there is more than one reason to start, such a bound would be of one of them and read as of all.
        let has_times = !self.triggers_given().is_empty();
        let bounded =
            |form: &AfterForm| matches!(form, AfterForm::Long(map) if map.modifiers() != Modifiers::default());
        if (has_times || !alone) && afters.iter().any(bounded) {
            let hint = "give them with the cron, every, delay or once, or make a job of its own for it";
            faults.add_hint(
                Code::BadTrigger,
                "after",
                "start, end and the like are not of one of several triggers",
                hint,
            );
        }
        let read = |(n, form): (usize, &AfterForm)| {
            let place = if alone { "after".to_string() } else { format!("after[{n}]") };
            let (path, on, each) = match form {
                AfterForm::Short(_) => (place, None, false),
                AfterForm::Long(map) => (format!("{place}.job"), map.on, map.each),
            };
            let job = follow(form.job(), &path, resolve, faults);
            Follow { job, on: on.map_or(On::Success, On::from), each }
        };
        afters.iter().enumerate().map(read).collect()
    }

    fn triggers_given(&self) -> Vec<&'static str> {
        [
            ("cron", self.cron.is_some()),
            ("every", self.every.is_some()),
            ("delay", self.delay.is_some()),
            ("once", self.once.is_some()),
            ("manual", self.manual == Some(true) && self.after.is_none()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
        .collect()
    }

    fn when(&self, faults: &mut Faults) -> (&'static str, When, Modifiers) {
        if let Some(form) = &self.cron {
            let map = match form {
                CronForm::Short(expr) => CronMap { expr: expr.clone(), ..CronMap::default() },
                CronForm::Long(map) => map.clone(),
            };
            return ("cron", map.read(matches!(form, CronForm::Short(_)), faults), map.modifiers());
        }
        if let Some(form) = &self.every {
            let (path, text, modifiers) = match form {
                EveryForm::Short(text) => ("every", text, Modifiers::default()),
                EveryForm::Long(map) => ("every.every", &map.every, map.modifiers()),
            };
            let every = faults.span(path, Some(text), EVERY_LEAST, LONGEST).unwrap_or(Span::DAY);
            return ("every", When::Rate { every }, modifiers);
        }
        if let Some(form) = &self.delay {
            let (path, text, modifiers) = match form {
                DelayForm::Short(text) => ("delay", text, Modifiers::default()),
                DelayForm::Long(map) => ("delay.delay", &map.delay, map.modifiers()),
            };
            let delay = faults.span(path, Some(text), Span::ZERO, LONGEST).unwrap_or(Span::DAY);
            return ("delay", When::Delay { delay }, modifiers);
        }
        if let Some(form) = &self.once {
            let (path, text, modifiers) = match form {
                OnceForm::Short(text) => ("once", text, Modifiers::default()),
                OnceForm::Long(map) => ("once.at", &map.at, map.modifiers()),
            };
            let at = faults.instant(path, Some(text)).unwrap_or_default();
            return ("once", When::Once { at }, modifiers);
        }
        if let Some([AfterForm::Long(map)]) = self.after.as_ref().map(|afters| afters.0.as_slice()) {
            return ("after", When::Manual, map.modifiers());
        }
        ("manual", When::Manual, Modifiers::default())
    }

    /// Writes a trigger in its shortest form.
    pub(super) fn set_trigger(&mut self, trigger: &Trigger, name_of: &dyn Fn(JobId) -> String) {
        let modifiers = Modifiers::write(trigger);
        let plain = modifiers == Modifiers::default();
        match &trigger.when {
            When::Manual => {
                self.after = write_follows(&trigger.follows, modifiers, name_of);
                return;
            }
            When::Cron { expr, dialect, zone, dst } => {
                let map = CronMap {
                    expr: expr.clone(),
                    zone: (zone != "UTC").then(|| zone.clone()),
                    dialect: (*dialect != CronDialect::Quartz).then(|| (*dialect).into()),
                    dst: (*dst != DstRule::default()).then(|| write_dst(*dst)),
                    ..CronMap::default()
                };
                let short = plain && map == CronMap { expr: expr.clone(), ..CronMap::default() };
                self.cron = Some(if short { CronForm::Short(map.expr) } else { CronForm::Long(map.with(modifiers)) });
            }
            When::Rate { every } => {
                let every = every.to_string();
                self.every = Some(match plain {
                    true => EveryForm::Short(every),
                    false => EveryForm::Long(EveryMap { every, ..EveryMap::default() }.with(modifiers)),
                });
            }
            When::Delay { delay } => {
                let delay = delay.to_string();
                self.delay = Some(match plain {
                    true => DelayForm::Short(delay),
                    false => DelayForm::Long(DelayMap { delay, ..DelayMap::default() }.with(modifiers)),
                });
            }
            When::Once { at } => {
                let at = Time::from(*at).to_string();
                self.once = Some(match plain {
                    true => OnceForm::Short(at),
                    false => OnceForm::Long(OnceMap { at, ..OnceMap::default() }.with(modifiers)),
                });
            }
        }
        self.after = write_follows(&trigger.follows, Modifiers::default(), name_of);
    }
}

fn write_follows(follows: &[Follow], modifiers: Modifiers, name_of: &dyn Fn(JobId) -> String) -> Option<Afters> {
    let plain = modifiers == Modifiers::default();
    let write = |follow: &Follow| {
        let job = name_of(follow.job);
        if plain && follow.on == On::Success && !follow.each {
            return AfterForm::Short(job);
        }
        let on = (follow.on != On::Success).then(|| follow.on.into());
        AfterForm::Long(AfterMap { job, on, each: follow.each, ..AfterMap::default() }.with(modifiers.clone()))
    };
    (!follows.is_empty()).then(|| Afters(follows.iter().map(write).collect()))
}

impl AfterForm {
    fn job(&self) -> &str {
        match self {
            AfterForm::Short(job) => job,
            AfterForm::Long(map) => &map.job,
        }
    }

    fn summary(&self) -> String {
        match self {
            AfterForm::Short(job) => format!("after {job}"),
            AfterForm::Long(map) => match map.on {
                None | Some(OnWord::Success) => format!("after {}", map.job),
                Some(OnWord::Failure) => format!("after {} fails", map.job),
                Some(OnWord::End) => format!("after {} ends", map.job),
            },
        }
    }
}

impl CronMap {
    fn read(&self, short: bool, faults: &mut Faults) -> When {
        let path = if short { "cron" } else { "cron.expr" };
        let dialect = self.dialect.map_or(CronDialect::Quartz, CronDialect::from);
        faults.size(path, self.expr.len(), 512);
        if dialect == CronDialect::Quartz && looks_like_crontab(&self.expr) {
            let message =
                "a Quartz expression has six or seven fields, the seconds first; this looks like a crontab line";
            let hint = format!("write cron: {{ expr: {:?}, dialect: unix }}", clip(&self.expr));
            faults.add_hint(Code::BadCron, path, message, hint);
        }
        let zone = self.zone.clone().unwrap_or_else(|| "UTC".into());
        if jiff::tz::TimeZone::get(&zone).is_err() {
            let message = format!("{:?} is not a time zone", clip(&zone));
            faults.add_hint(Code::BadZone, "cron.zone", message, "use an IANA name such as Asia/Shanghai");
        }
        let dst = match &self.dst {
            None => DstRule::default(),
            Some(DstForm::Short(DstWord::Quartz)) => DstRule::Quartz,
            Some(DstForm::Long(map)) => DstRule::Policy {
                gap: map.gap.map_or(Gap::AtGapEnd, Gap::from),
                fold: map.overlap.map_or(Fold::First, Fold::from),
            },
        };
        When::Cron { expr: self.expr.clone(), dialect, zone, dst }
    }
}

fn looks_like_crontab(expr: &str) -> bool {
    expr.trim_start().starts_with('@') || expr.split_whitespace().count() == 5
}

fn follow(name: &str, path: &str, resolve: &dyn Fn(&str) -> Option<JobId>, faults: &mut Faults) -> JobId {
    resolve(name).unwrap_or_else(|| {
        let message = format!("there is no job {:?}", clip(name));
        faults.add_hint(Code::NoSuchReference, path, message, "apply it first, or in the same call");
        JobId(0)
    })
}

fn write_dst(rule: DstRule) -> DstForm {
    match rule {
        DstRule::Quartz => DstForm::Short(DstWord::Quartz),
        DstRule::Policy { gap, fold } => DstForm::Long(DstMap { gap: Some(gap.into()), overlap: Some(fold.into()) }),
    }
}

impl Modifiers {
    fn read(self, path: &str, when: When, faults: &mut Faults) -> Trigger {
        let start = faults.instant(&format!("{path}.start"), self.start.as_deref());
        let end = faults.instant(&format!("{path}.end"), self.end.as_deref());
        if let (Some(start), Some(end)) = (start, end)
            && end <= start
        {
            faults.add(Code::BadTrigger, &format!("{path}.end"), "the end is not after the start");
        }
        if self.max_count == Some(0) {
            let hint = "leave it out for no bound, or set mode: disabled";
            faults.add_hint(Code::BadTrigger, &format!("{path}.max_count"), "0 would never fire", hint);
        }
        let jitter = faults.span(&format!("{path}.jitter"), self.jitter.as_deref(), Span::ZERO, Span::DAY);
        let mut misfire = Misfire::default();
        match self.misfire {
            None => {}
            Some(MisfireForm::Short(word)) => misfire.rule = word.into(),
            Some(MisfireForm::Long(map)) => {
                misfire.rule = map.rule.map_or(misfire.rule, MisfireRule::from);
                let grace = faults.span(&format!("{path}.misfire.grace"), map.grace.as_deref(), Span::ZERO, LONGEST);
                misfire.grace = grace.unwrap_or(misfire.grace);
            }
        }
        Trigger {
            when,
            follows: Vec::new(),
            start,
            end,
            count_max: self.max_count,
            jitter: jitter.unwrap_or(Span::ZERO),
            misfire,
        }
    }

    fn write(trigger: &Trigger) -> Modifiers {
        let plain = Misfire::default();
        let rule: MisfireWord = trigger.misfire.rule.into();
        Modifiers {
            start: trigger.start.map(|at| Time::from(at).to_string()),
            end: trigger.end.map(|at| Time::from(at).to_string()),
            max_count: trigger.count_max,
            jitter: (trigger.jitter != Span::ZERO).then(|| trigger.jitter.to_string()),
            misfire: if trigger.misfire == plain {
                None
            } else if trigger.misfire.grace == plain.grace {
                Some(MisfireForm::Short(rule))
            } else {
                let grace = Some(trigger.misfire.grace.to_string());
                Some(MisfireForm::Long(MisfireMap { rule: Some(rule), grace }))
            },
        }
    }
}
