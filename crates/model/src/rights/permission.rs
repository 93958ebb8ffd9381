//! What can be done to what, one by one and in sets.

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Job,
    Instance,
    Log,
    Pool,
    Resource,
    Agent,
    Variable,
    Secret,
    Channel,
    /// Who has which role in a tenant.
    Member,
    Audit,
    // Of the installation, not of a tenant.
    Tenant,
    Person,
    Role,
    Server,
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    See,
    /// Start, stop, pause: nothing that changes what would be run.
    Run,
    Edit,
    /// Bring code of one's own, to be run on agents.
    Code,
    /// Do the work: say that one is there to run things, and report what came of them. What executors do.
    Serve,
}

/// What a caller must be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Nobody needs to be signed in.
    Public,
    /// Whoever is signed in, about themselves.
    SignedIn,
    May(Kind, Action),
}

impl Kind {
    pub const ALL: [Kind; 16] = [
        Kind::Job,
        Kind::Instance,
        Kind::Log,
        Kind::Pool,
        Kind::Resource,
        Kind::Agent,
        Kind::Variable,
        Kind::Secret,
        Kind::Channel,
        Kind::Member,
        Kind::Audit,
        Kind::Tenant,
        Kind::Person,
        Kind::Role,
        Kind::Server,
        Kind::System,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Job => "job",
            Kind::Instance => "instance",
            Kind::Log => "log",
            Kind::Pool => "pool",
            Kind::Resource => "resource",
            Kind::Agent => "agent",
            Kind::Variable => "variable",
            Kind::Secret => "secret",
            Kind::Channel => "channel",
            Kind::Member => "member",
            Kind::Audit => "audit",
            Kind::Tenant => "tenant",
            Kind::Person => "person",
            Kind::Role => "role",
            Kind::Server => "server",
            Kind::System => "system",
        }
    }

    /// Belongs to the installation: rights in one tenant say nothing about it.
    pub fn is_of_installation(self) -> bool {
        match self {
            Kind::Tenant | Kind::Person | Kind::Role | Kind::Server | Kind::System => true,
            Kind::Job | Kind::Instance | Kind::Log | Kind::Pool | Kind::Resource | Kind::Agent => false,
            Kind::Variable | Kind::Secret | Kind::Channel | Kind::Member | Kind::Audit => false,
        }
    }

    /// Lies in a folder, so that a grant for one folder can speak of it.
    pub fn has_place(self) -> bool {
        match self {
            Kind::Job | Kind::Instance | Kind::Log | Kind::Variable | Kind::Secret => true,
            Kind::Pool | Kind::Resource | Kind::Agent | Kind::Channel | Kind::Member | Kind::Audit => false,
            Kind::Tenant | Kind::Person | Kind::Role | Kind::Server | Kind::System => false,
        }
    }

    /// What can be done to it.
    pub fn actions(self) -> &'static [Action] {
        match self {
            Kind::Job => &[Action::See, Action::Run, Action::Edit, Action::Code],
            Kind::Instance => &[Action::See, Action::Run, Action::Serve],
            Kind::Agent => &[Action::See, Action::Edit, Action::Serve],
            Kind::Log | Kind::Audit => &[Action::See],
            Kind::Pool | Kind::Resource | Kind::Variable | Kind::Secret | Kind::Channel => &[Action::See, Action::Edit],
            Kind::Member | Kind::Tenant | Kind::Person | Kind::Role | Kind::Server | Kind::System => {
                &[Action::See, Action::Edit]
            }
        }
    }
}

impl Action {
    pub const ALL: [Action; 5] = [Action::See, Action::Run, Action::Edit, Action::Code, Action::Serve];

    pub fn name(self) -> &'static str {
        match self {
            Action::See => "see",
            Action::Run => "run",
            Action::Edit => "edit",
            Action::Code => "code",
            Action::Serve => "serve",
        }
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Permission::Public => f.write_str("public"),
            Permission::SignedIn => f.write_str("signed_in"),
            Permission::May(kind, action) => write!(f, "{}.{}", kind.name(), action.name()),
        }
    }
}

/// A set of (kind, action).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u128);

impl Permissions {
    pub const NONE: Permissions = Permissions(0);

    /// Every pair that means something.
    pub fn all() -> Permissions {
        Kind::ALL.into_iter().flat_map(|kind| kind.actions().iter().map(move |action| (kind, *action))).collect()
    }

    pub fn has(self, kind: Kind, action: Action) -> bool {
        self.0 & bit(kind, action) != 0
    }

    pub fn with(self, kind: Kind, action: Action) -> Permissions {
        Permissions(self.0 | bit(kind, action))
    }

    pub fn both(self, other: Permissions) -> Permissions {
        Permissions(self.0 & other.0)
    }

    pub fn either(self, other: Permissions) -> Permissions {
        Permissions(self.0 | other.0)
    }

    pub fn contains(self, other: Permissions) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = (Kind, Action)> {
        let every = Kind::ALL.into_iter().flat_map(|kind| kind.actions().iter().map(move |action| (kind, *action)));
        every.filter(move |(kind, action)| self.has(*kind, *action))
    }

    /// `job.run`, or `job.*` for all that can be done to it. None: there is no such thing.
    pub fn parse(word: &str) -> Option<Permissions> {
        let (kind, action) = word.split_once('.')?;
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
        let fits = |known: &Action| action == "*" || known.name() == action;
        let found: Permissions = kind.actions().iter().copied().filter(fits).map(|action| (kind, action)).collect();
        (!found.is_empty()).then_some(found)
    }
}

impl FromIterator<(Kind, Action)> for Permissions {
    fn from_iter<I: IntoIterator<Item = (Kind, Action)>>(pairs: I) -> Permissions {
        pairs.into_iter().fold(Permissions::NONE, |set, (kind, action)| set.with(kind, action))
    }
}

fn bit(kind: Kind, action: Action) -> u128 {
    1 << (kind as u32 * 8 + action as u32)
}
