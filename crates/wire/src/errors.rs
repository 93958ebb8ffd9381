//! Every error code there is: one table, from which problem documents, the command line and `docs/errors` all speak.
//! A code once given out keeps its meaning.

macro_rules! catalogue {
    ($($name:ident $code:literal $status:literal $title:literal $advice:literal;)*) => {
        /// Something that can go wrong, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($name,)*
        }

        /// All codes, in order.
        pub const CATALOGUE: &[(Code, Entry)] = &[
            $((Code::$name, Entry { code: $code, status: $status, title: $title, advice: $advice }),)*
        ];
    };
}

/// What is the same for every occurrence of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub code: &'static str,
    /// The HTTP status it travels with; 0 for what only the command line says.
    pub status: u16,
    pub title: &'static str,
    pub advice: &'static str,
}

catalogue! {
    // E01: the request itself
    Internal         "E0100" 500 "something failed inside the server" "Look into the server's log for the request id, and report it with that line.";
    BadBody          "E0101" 400 "the body cannot be read" "Send one JSON document with the content type application/json.";
    WrongBody        "E0102" 422 "the body does not say what is needed" "Compare it with the schema in /api/v1/openapi.json.";
    BadQuery         "E0103" 400 "a parameter of the address cannot be read" "Compare the parameter with the schema in /api/v1/openapi.json.";
    NoRoute          "E0104" 404 "there is nothing at this address" "Look the address up in /api/v1/openapi.json.";
    WrongMethod      "E0105" 405 "the address does not take this method" "The Allow header of the answer names the methods it takes.";
    TooLarge         "E0106" 413 "the body is too large" "Send less at once: apply files in several calls, keep big scripts in files on the agent.";
    WrongMediaType   "E0107" 415 "the body is of a kind that is not taken here" "Send application/json.";
    BadCursor        "E0108" 400 "the cursor is not one of ours" "Take `next` from the previous page unchanged, with the same filters, or start without it.";
    KeyReused        "E0109" 409 "the idempotency key was used for something else" "Use a fresh Idempotency-Key for every new request, and repeat a key only with the same body.";
    TookTooLong      "E0110" 503 "reading took too long and was given up" "Narrow the window with from and to, or name the job.";
    NotReady         "E0111" 503 "the server is not ready yet" "Ask again in a moment; GET /api/v1/ready says what is missing.";
    TooMany          "E0112" 429 "too many requests at once" "Wait as long as Retry-After says.";

    // E02: job files
    BadText          "E0201" 422 "the job file cannot be read" "Mend the text at the line that is shown.";
    BadShape         "E0202" 422 "the job file has a key or a value that does not belong there" "Compare the key with the job reference; keys are spelled in lower case with underscores.";
    BadJobs          "E0203" 422 "the jobs have faults" "Mend what is listed under errors; nothing was changed.";
    BadName          "E0204" 422 "the name cannot be used" "Use lower-case letters, digits, '_', '.' and '-', at most 128, beginning with a letter or digit, not digits alone.";
    BadTrigger       "E0205" 422 "the trigger is not clear" "Give at most one of cron, every, delay, once and manual; after may stand beside the first four.";
    BadCron          "E0206" 422 "the cron expression cannot be used" "Quartz order is: second minute hour day-of-month month day-of-week [year]. For a crontab line write {expr: \"…\", dialect: unix}.";
    BadZone          "E0207" 422 "the time zone is not known" "Use an IANA name such as Asia/Shanghai or Europe/Berlin.";
    BadLength        "E0208" 422 "the duration cannot be used" "Write a number with a unit: 250ms, 90s, 20m, 1h30m, 2d.";
    BadTime          "E0209" 422 "the instant cannot be used" "Write RFC 3339 with an offset: 2026-11-15T10:20:30Z.";
    BadTask          "E0210" 422 "the task is not clear" "Give exactly one of noop, sh, python, node, php, powershell, command, http and executor.";
    OverSize         "E0211" 422 "a value is larger than is allowed" "Make it smaller; the message names the bound.";
    NoSuchReference  "E0212" 422 "the job it follows does not exist" "Apply that job first or in the same call, or mend the name.";
    FollowsItself    "E0213" 422 "the job would follow itself" "Break the circle of `after`.";
    NamedTwice       "E0214" 422 "two jobs in one call have the same name" "Give each job its own name.";
    BadPolicy        "E0215" 422 "a policy cannot be used" "Mend the value; the message names what is allowed.";
    BadCall          "E0216" 422 "the HTTP call cannot be used" "Give an absolute http or https URL and a known method.";
    PastOnce         "E0217" 422 "the only planned time has passed" "Name a time to come, or leave `once` out and start it with `duly job trigger NAME`.";
    NotEnough        "E0218" 422 "the job needs more of a resource than there is" "Say how much there is with `duly resource set NAME --units N`, or let the job need less.";

    // E03: jobs
    NoSuchJob        "E0301" 404 "there is no such job" "List the jobs with `duly job list`; names are exact.";
    NameTaken        "E0302" 409 "the name is taken by another job" "Choose another name, or change the job that has it.";
    JobDisabled      "E0303" 409 "the job is disabled" "Enable it with `duly job enable NAME`.";
    JobHeld          "E0304" 409 "the job is held in quarantine" "Look at `duly quarantine`, mend the cause, then `duly job release NAME`.";
    NotHeld          "E0305" 409 "the job is not held in quarantine" "Nothing needs to be done.";
    AlreadyPlanned   "E0306" 409 "there is an instance for that planned time already" "Rerun that instance, or give another planned time.";
    NoSuchVersion    "E0307" 404 "there is no such version of the job" "List them with `duly job versions NAME`.";
    JobFollowed      "E0308" 409 "other jobs follow this one" "Let them follow another job or delete them first, or repeat with --force (force=true): then nothing starts them any more.";
    NotThere         "E0309" 422 "the job does not run there" "Name an agent or executor of the job's pool; `duly agents list` shows them.";

    // E04: instances
    NoSuchInstance   "E0401" 404 "there is no such instance" "List them with `duly instance list`; old ones are dropped when their time to be kept is over.";
    NotOpen          "E0402" 409 "the instance has ended already" "Nothing is left to stop; `duly instance rerun ID` starts it again.";
    StillOpen        "E0403" 409 "the instance has not ended yet" "Wait for it, or stop it first with `duly instance stop ID`.";
    NotUncertain     "E0404" 409 "the instance is not uncertain" "Only an attempt whose agent cannot be asked needs a person's word.";
    NoSuchAttempt    "E0405" 404 "there is no such attempt" "List them with `duly instance show ID`.";
    NoLog            "E0406" 404 "the log is not there any more" "Logs are dropped when their time to be kept is over; keep them longer in the configuration.";

    // E05: agents and pools
    NoSuchAgent      "E0501" 404 "there is no such agent" "List them with `duly agents list`.";
    AgentBusy        "E0502" 409 "the agent still has work" "Drain it and wait until nothing runs there, then remove it.";
    NoSuchPool       "E0503" 404 "there is no such pool" "List them with `duly pool list`.";
    PoolInUse        "E0504" 409 "the pool is still used" "Move its jobs and agents to another pool first.";
    BadJoinToken     "E0505" 401 "the join token is not valid" "Make a new one with `duly join-token`; each works once and for a short time.";
    BadAddress       "E0506" 422 "the address of an executor cannot be used" "Write it like http://host:port/, as the executor is reached from the server.";

    // E06: access
    NotSignedIn      "E0601" 401 "nobody is signed in" "Send a token: Authorization: Bearer …, or DULY_TOKEN for the command line.";
    NotPermitted     "E0602" 403 "this is not permitted" "Ask an administrator for a token that carries the permission named in the message.";
    WrongPassword    "E0603" 401 "name or password is wrong" "Check spelling and keyboard layout, and try again.";
    SetupNeeded      "E0604" 503 "the first set-up has not been done" "Open the set-up link the server printed, or run `duly setup`.";
    SetupDone        "E0605" 409 "the set-up was done already" "Sign in instead.";
    BadSetupToken    "E0606" 403 "the set-up token is not valid" "Use the link of the latest start; it works once.";
    NoSuchToken      "E0607" 404 "there is no such token" "List them with `duly token list`.";
    WeakPassword     "E0608" 422 "the password is too weak" "Take at least 10 characters.";

    // E07: the server's own troubles
    StoreBusy        "E0701" 503 "the store cannot write now" "Free space on the disk of the data directory; the server goes on by itself.";
    StoreDamaged     "E0702" 500 "the store is damaged" "Stop the server and restore the last backup with `duly restore`.";
    NotOwner         "E0703" 503 "another server owns this now" "Ask again: the request goes to the owner.";
    BackupFailed     "E0704" 500 "the backup could not be made" "Check the space in the data directory, and the server's log.";
    EngineFailed     "E0705" 500 "deciding about this failed" "The job is held; look at `duly quarantine`.";
    NoSuchServer     "E0706" 404 "there is no such server" "List them with `duly cluster status`.";
    ServerAlive      "E0707" 409 "that server is still in use" "Stop it, or wait until others have taken what it holds.";
    NotClustered     "E0708" 409 "this server is alone" "Several servers need a store in PostgreSQL: see docs/cluster.md.";
    BackupElsewhere  "E0709" 409 "this store is backed up by its database" "Use pg_dump, and pg_restore to bring it back.";
    Unserved         "E0710" 503 "none of the servers that may schedule this is there" "Start one of them, or name others: `duly tenant set NAME --servers A,B`.";

    // E08: said by the command line alone
    Unreachable      "E0801" 0 "the server cannot be reached" "Check that it runs (`duly up`) and that DULY_URL names it.";
    StrangeAnswer    "E0802" 0 "the server's answer was not understood" "Check that DULY_URL names a Duly server of about this version.";
    WantsYes         "E0803" 0 "this needs a yes, and there is nobody to ask" "Look at the plan, then repeat with --yes.";
    BadFile          "E0804" 0 "the file cannot be used" "Check path and rights.";
    BadArgument      "E0805" 0 "an argument cannot be used" "See --help of the command.";
    EndedBadly       "E0806" 0 "the instance did not end well" "See `duly log ID` and `duly why ID`.";
    VerifyFound      "E0807" 0 "the ledger and the triggers disagree" "See the list; each line names job and planned time.";
    StaleFence       "E0808" 0 "a newer attempt works there now" "End this one: what it would write is out of date.";

    // E09: people and rights
    NoSuchPerson     "E0901" 404 "there is no such account" "List them with `duly person list`; names are exact.";
    NameInUse        "E0902" 409 "the name is taken" "Choose another name.";
    MoreThanOwn      "E0903" 403 "nobody gives more than they have" "Ask somebody who has these rights themselves; `duly whoami` shows yours.";
    LastAdministrator "E0904" 409 "nobody would be left to administrate the installation" "Grant platform_admin everywhere to another person first.";
    ChangePassword   "E0905" 403 "the password must be changed first" "Set one of your own: `duly person password --old-password-file OLD --password-file NEW`.";
    NoSuchGroup      "E0906" 404 "there is no such group" "List them with `duly group list`.";
    NoSuchRole       "E0907" 404 "there is no such role" "List them with `duly role list`.";
    NoSuchGrant      "E0908" 404 "there is no such grant" "List them with `duly grant list`, in the tenant it is in.";
    RoleInUse        "E0909" 409 "somebody still has this role" "Delete the grants that name it first; `duly grant list` shows them.";
    WrongAccountKind "E0910" 409 "an account of this kind has no such thing" "Persons have passwords and make their own tokens; service accounts have tokens that others make.";
    BadPermission    "E0911" 422 "there is no such permission" "Write it as kind.action, such as job.run, or kind.* for all; `duly role list` shows all there are.";
    NoSuchSession    "E0912" 404 "there is no such session" "List them with `duly session list`.";
    ScopedToken      "E0913" 403 "a token with a scope does not manage its owner's account" "Sign in, or use a token that carries everything its owner may do.";
    NoProvider       "E0914" 404 "signing in by an identity provider is not set up" "Mend [oidc] in the settings as the message says; passwords work meanwhile.";
    ProviderFailed   "E0915" 502 "the identity provider could not be asked" "Check that the server reaches the issuer; passwords work meanwhile.";
    ProviderRefused  "E0916" 403 "what came from the identity provider was not accepted" "Begin again; if it stays so, compare issuer, client and clock on both sides.";
    NoAccount        "E0917" 403 "the identity provider's user has no account here" "An administrator makes one with `duly person create NAME --provider`, or mends what the message says.";
    OwnPassword      "E0918" 409 "one's own password needs the old one" "Change it with `duly person password --old-password-file OLD --password-file NEW`; whoever has lost it asks another administrator.";

    // E09: people, tenants, audit, secrets, policy
    NoSuchTenant     "E0921" 404 "there is no such tenant" "List them with `duly tenant list`; names are exact.";
    TenantNameTaken  "E0922" 409 "the name is taken by another tenant" "Choose another name, or change the tenant that has it.";
    TenantKept       "E0923" 409 "the default tenant cannot be deleted" "Delete its jobs, pools and agents one by one instead.";
    TenantInUse      "E0924" 409 "the tenant still has something" "Delete it with `duly tenant delete NAME`, which takes everything away in order.";
    JobsQuota        "E0925" 409 "the tenant may not have so many jobs" "Delete jobs that are not needed, or ask for a larger quota: `duly tenant set NAME --jobs N`.";
    NotConfirmed     "E0926" 409 "the confirmation is not valid" "Call `duly tenant delete NAME` again without it, and use the word it gives you.";
    NotExported      "E0927" 409 "the tenant was not exported as it is now" "Run `duly tenant export NAME > FILE` first, then delete it.";
    TenantClosing    "E0928" 409 "the tenant is being deleted" "Wait until it is gone; `duly tenant show NAME` says what is left.";
    HasJobs          "E0929" 409 "the tenant has jobs that any server may schedule" "Make another tenant with `--servers`, apply the jobs there, and delete them here.";
    NoShardsLeft     "E0930" 409 "no further tenant can have servers of its own" "Delete a tenant that has servers of its own and is not needed any more.";
    // E094: the audit
    AuditStuck       "E0941" 503 "the audit cannot be written, so nothing is changed" "Let the store write again (space on its disk, rights in its database); changes are taken again by themselves.";
    BadReason        "E0942" 400 "the reason cannot be used" "Say it on one line, in at most 500 characters of UTF-8.";
    NoSuchEntry      "E0943" 404 "there is no such entry" "List them with `duly audit list`; old ones are dropped when their time to be kept is over.";
    AuditBroken      "E0944" 0 "the audit was tampered with, or is damaged" "Each finding names an entry; compare with an export or a head noted earlier.";
    // E095: variables and secrets
    UnknownVariable  "E0951" 422 "a variable is not set for this job" "Set it with `duly variable set NAME VALUE`, or in the job under variables; for a plain ${ write $${.";
    BadPlaceholder   "E0952" 422 "a placeholder cannot be read" "Write ${name}, with letters, digits, '_' and '-'; for a plain ${ write $${.";
    BadSecretUse     "E0953" 422 "a secret cannot be used like that" "Hand it to the task under secrets, as NAME: secret; ${secret.name} stands only in headers and body of an HTTP call.";
    UnknownSecret    "E0954" 422 "the job may use no such secret" "List them with `duly secret list`; a secret of a folder is for jobs in and below that folder.";
    NoSuchVariable   "E0955" 404 "there is no such variable" "List them with `duly variable list`; each level has its own.";
    NoSuchSecret     "E0956" 404 "there is no such secret" "List them with `duly secret list`.";
    BadSecret        "E0957" 422 "the value cannot be a secret" "Take a text of 4 characters to 16 KiB without zero bytes: shorter ones could not be hidden in logs.";
    NoSecretKey      "E0958" 409 "this server has no key to keep secrets with" "Give every server of the cluster the same key: `head -c 32 /dev/urandom | base64 > FILE`, then --secret-key-file FILE or DULY_SECRET_KEY.";
    OtherSecretKey   "E0959" 409 "the secrets are kept under a key this server was not given" "Start it with the key the other servers have, or with the key file of the data directory the store came from.";
    NothingToRotate  "E0960" 409 "there is no new key to rotate to" "Put a new key before the old one in the key file or DULY_SECRET_KEY of every server, restart them, and repeat.";

    TaskForbidden    "E0971" 0 "the agent may not run this kind of task" "Name the kind in allow.tasks of the agent's policy, or let the job run in another pool.";
    UserForbidden    "E0972" 0 "the agent may not run tasks as this user" "Name the user in allow.users of the agent's policy, or leave run_as out of the job.";
    PlaceForbidden   "E0973" 0 "the agent may not start tasks in this directory" "Name the directory in allow.directories of the agent's policy, or change cwd of the job.";
    ProgramForbidden "E0974" 0 "the agent may not run this program" "Name its directory in allow.programs of the agent's policy.";
    NameForbidden    "E0975" 0 "the agent may not hand this variable to tasks" "Name it in env.set or env.pass of the agent's policy, or leave it out of the job.";
    BadPolicyFile    "E0976" 0 "the agent's policy cannot be used" "Mend the file at the line that is shown, and start the agent again.";
    NeverCalled      "E0981" 422 "this address is never called" "Use another address; one that is harmless after all is named under allow in the policy of who calls.";
    PrivateForbidden "E0982" 422 "private networks are not called here" "Ask for private networks to be allowed for the tenant, or use a public address.";
    OwnPort          "E0983" 422 "Duly itself listens there" "Use the API with a token of your own from a script; or name the address under allow in the policy of who calls.";
    BadCertificate   "E0986" 0 "the certificate of the agents' port cannot be used" "Renew it, or give the one that is for the name agents dial; the message says what is wrong.";
}

impl Code {
    pub fn entry(self) -> &'static Entry {
        // The table is made by the macro that makes the enum: same order, same length.
        &CATALOGUE[self as usize].1
    }

    pub fn as_str(self) -> &'static str {
        self.entry().code
    }

    pub fn coded(code: &str) -> Option<Code> {
        CATALOGUE.iter().find(|(_, entry)| entry.code == code).map(|(code, _)| *code)
    }
}

/// How it is told that somebody's word leads where nobody is called.
impl From<model::egress::Ground> for Code {
    fn from(ground: model::egress::Ground) -> Code {
        use model::egress::Ground;
        match ground {
            Ground::Private => Code::PrivateForbidden,
            Ground::Own => Code::OwnPort,
            Ground::Metadata
            | Ground::LinkLocal
            | Ground::Multicast
            | Ground::Unspecified
            | Ground::Reserved
            | Ground::Denied => Code::NeverCalled,
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_found_again() {
        assert!(CATALOGUE.windows(2).all(|pair| pair[0].1.code < pair[1].1.code));
        for (code, entry) in CATALOGUE {
            assert_eq!(code.entry(), entry);
            assert_eq!(Code::coded(entry.code), Some(*code));
        }
    }

    #[test]
    fn every_code_has_its_page_and_every_page_its_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let mut pages: Vec<String> = std::fs::read_dir(folder)
            .expect("docs/errors is there")
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(String::from))
            .filter(|name| name != "README")
            .collect();
        pages.sort();
        let codes: Vec<&str> = CATALOGUE.iter().map(|(_, entry)| entry.code).collect();
        assert_eq!(pages, codes);
        for (_, entry) in CATALOGUE {
            let page = std::fs::read_to_string(format!("{folder}/{}.md", entry.code)).unwrap();
            let heading = format!("# {}: {}\n", entry.code, entry.title);
            assert!(page.starts_with(&heading), "{} should begin with {heading:?}", entry.code);
        }
    }
}
