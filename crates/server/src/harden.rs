//! How safe an installation is set up: facts in, findings out, each with what to do about it. Never changes anything, and
//! never looks anything up itself.

use std::net::SocketAddr;

use wire::api::{FindingWeight, HardenFinding, HardenView};

/// What is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub listen: SocketAddr,
    pub agent_listen: SocketAddr,
    pub agent_tls: bool,
    /// Agents on which tasks run as root unless their job or pool says otherwise.
    pub root_agents: Vec<String>,
    /// Agents whose machines forbid nothing.
    pub lawless_agents: Vec<String>,
    /// Tenants other than the first whose HTTP tasks and executors may be in private networks.
    pub private_tenants: Vec<String>,
    /// Files with keys, and their permission bits.
    pub key_files: Vec<(String, u32)>,
    /// Permission bits of the data directory.
    pub data_mode: u32,
    pub data: String,
    /// Built with faults on purpose.
    pub has_faults: bool,
    pub xxl_allows_default: bool,
    pub xxl_allows_empty: bool,
    /// Length of the token executors were given at the start, if there is one.
    pub xxl_token_length: Option<usize>,
    /// Executors that are called without TLS, elsewhere than on this machine.
    pub plain_executors: Vec<String>,
    /// Names of persons who may do everything everywhere.
    pub administrators: Vec<String>,
    /// Names and owners of tokens without an end and without a scope.
    pub endless_tokens: Vec<String>,
    /// Accounts whose password somebody else knows.
    pub must_change: Vec<String>,
}

/// One thing that is looked at.
struct Check {
    id: &'static str,
    weight: FindingWeight,
    what: &'static str,
    fix: &'static str,
    /// None: it is well. Else what was seen.
    seen: fn(&Facts) -> Option<String>,
}

/// Points an installation loses for each.
fn cost(weight: FindingWeight) -> u32 {
    match weight {
        FindingWeight::Serious => 25,
        FindingWeight::Middling => 10,
        FindingWeight::Slight => 3,
    }
}

pub(crate) fn judge(facts: &Facts) -> HardenView {
    let findings: Vec<HardenFinding> = CHECKS
        .iter()
        .filter_map(|check| {
            let seen = (check.seen)(facts)?;
            let (id, what, fix) = (check.id.to_owned(), check.what.to_owned(), check.fix.to_owned());
            Some(HardenFinding { id, weight: check.weight, what, seen, fix })
        })
        .collect();
    let lost: u32 = findings.iter().map(|finding| cost(finding.weight)).sum();
    HardenView { score: 100_u32.saturating_sub(lost), checks: CHECKS.len() as u32, findings }
}

const CHECKS: &[Check] = &[
    Check {
        id: "api-plain",
        weight: FindingWeight::Serious,
        what: "people and programs are served in plain HTTP beyond this machine",
        fix: "listen on 127.0.0.1 and put a proxy with TLS in front (docs/operating.md)",
        seen: |facts| beyond(facts.listen),
    },
    Check {
        id: "agents-plain",
        weight: FindingWeight::Middling,
        what: "agents are served without TLS: on this machine, whoever takes their port can pose as the server",
        fix: "start the server without --agent-plain (docs/agents.md)",
        seen: |facts| (!facts.agent_tls).then(|| facts.agent_listen.to_string()),
    },
    Check {
        id: "xxl-no-token",
        weight: FindingWeight::Serious,
        what: "anybody who reaches the port can register an XXL-JOB executor and be sent work",
        fix: "leave out --xxl-allow-empty-token and --xxl-allow-default-token; make a token with `duly xxl-token create`",
        seen: |facts| match (facts.xxl_allows_empty, facts.xxl_allows_default) {
            (true, _) => Some("no token is asked for".into()),
            (false, true) => Some("the well-known default_token is taken".into()),
            (false, false) => None,
        },
    },
    Check {
        id: "xxl-short-token",
        weight: FindingWeight::Middling,
        what: "the XXL-JOB token of the server's start is short enough to be guessed",
        fix: "make one with `duly xxl-token create`, give it to the executors, and start without --xxl-token",
        seen: |facts| facts.xxl_token_length.filter(|length| *length < 22).map(|length| format!("{length} characters")),
    },
    Check {
        id: "xxl-plain",
        weight: FindingWeight::Middling,
        what: "executors are called in plain HTTP: their token can be read on the way",
        fix: "register them with https addresses, or keep them in a network of their own",
        seen: |facts| some(&facts.plain_executors),
    },
    Check {
        id: "runs-as-root",
        weight: FindingWeight::Middling,
        what: "agents run tasks as root",
        fix: "run them as users of their own, or name run_as in their policies (docs/agents.md)",
        seen: |facts| some(&facts.root_agents),
    },
    Check {
        id: "agents-without-policy",
        weight: FindingWeight::Slight,
        what: "agents whose machines have no policy: whoever may write jobs may run anything there",
        fix: "say in agent.toml what may run there, as whom and where (docs/agents.md)",
        seen: |facts| some(&facts.lawless_agents),
    },
    Check {
        id: "private-networks",
        weight: FindingWeight::Middling,
        what: "tenants whose HTTP tasks and executors may be on loopback and in private networks, besides the first",
        fix: "`duly tenant set NAME --private-network false`; start without --private-networks all (docs/tenants.md)",
        seen: |facts| some(&facts.private_tenants),
    },
    Check {
        id: "data-open",
        weight: FindingWeight::Serious,
        what: "others on this machine can look into the data directory",
        fix: "chmod 700 it; keep it on a file system that knows permissions",
        seen: |facts| {
            (facts.data_mode & 0o077 != 0).then(|| format!("{} has mode {:o}", facts.data, facts.data_mode & 0o777))
        },
    },
    Check {
        id: "keys-open",
        weight: FindingWeight::Serious,
        what: "others on this machine can read keys or tokens of this server",
        fix: "chmod 600 them, and make those anew that somebody may have read",
        seen: |facts| {
            // A group of its own may read a key that several programs use.
            let open = facts.key_files.iter().filter(|(_, mode)| mode & 0o037 != 0);
            some(&open.map(|(file, mode)| format!("{file} has mode {:o}", mode & 0o777)).collect::<Vec<_>>())
        },
    },
    Check {
        id: "built-for-tests",
        weight: FindingWeight::Serious,
        what: "this program was built with faults on purpose, for tests",
        fix: "build it without the feature `faults`",
        seen: |facts| facts.has_faults.then(|| "feature faults".into()),
    },
    Check {
        id: "endless-tokens",
        weight: FindingWeight::Slight,
        what: "API tokens that never end and may do all their owners may",
        fix: "make them anew with --expires-in and a scope, and revoke these (`duly token list`)",
        seen: |facts| some(&facts.endless_tokens),
    },
    Check {
        id: "many-administrators",
        weight: FindingWeight::Slight,
        what: "many persons may do everything everywhere",
        fix: "give them the roles they need, where they need them (`duly grant list`)",
        seen: |facts| if facts.administrators.len() > 3 { some(&facts.administrators) } else { None },
    },
    Check {
        id: "known-passwords",
        weight: FindingWeight::Slight,
        what: "accounts whose password was set by somebody else and not changed since",
        fix: "let their owners sign in and set another, or disable them (`duly person list`)",
        seen: |facts| some(&facts.must_change),
    },
];

fn beyond(address: SocketAddr) -> Option<String> {
    (!address.ip().is_loopback()).then(|| address.to_string())
}

fn some(names: &[String]) -> Option<String> {
    const FEW: usize = 5;
    if names.is_empty() {
        return None;
    }
    let more = if names.len() > FEW { format!(" and {} more", names.len() - FEW) } else { String::new() };
    Some(format!("{}{more}", names[..names.len().min(FEW)].join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe() -> Facts {
        Facts {
            listen: ([127, 0, 0, 1], 7070).into(),
            agent_listen: ([0, 0, 0, 0], 7071).into(),
            agent_tls: true,
            root_agents: Vec::new(),
            lawless_agents: Vec::new(),
            private_tenants: Vec::new(),
            key_files: vec![("secret.key".into(), 0o100600), ("tls.key".into(), 0o100640)],
            data_mode: 0o40700,
            data: "duly-data".into(),
            has_faults: false,
            xxl_allows_default: false,
            xxl_allows_empty: false,
            xxl_token_length: None,
            plain_executors: Vec::new(),
            administrators: vec!["ada".into()],
            endless_tokens: Vec::new(),
            must_change: Vec::new(),
        }
    }

    fn found(facts: &Facts) -> Vec<String> {
        judge(facts).findings.into_iter().map(|finding| format!("{}: {}", finding.id, finding.seen)).collect()
    }

    #[test]
    fn a_safe_installation_has_all_its_points() {
        let view = judge(&safe());
        assert_eq!((view.score, view.findings.len()), (100, 0));
    }

    #[test]
    fn each_deviation_is_named_with_what_was_seen() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let table: Vec<(&str, Facts)> = vec![
            ("api-plain: 0.0.0.0:7070", Facts { listen: ([0, 0, 0, 0], 7070).into(), ..safe() }),
            (
                "agents-plain: 127.0.0.1:7071",
                Facts { agent_tls: false, agent_listen: ([127, 0, 0, 1], 7071).into(), ..safe() },
            ),
            ("xxl-no-token: no token is asked for", Facts { xxl_allows_empty: true, ..safe() }),
            ("xxl-no-token: the well-known default_token is taken", Facts { xxl_allows_default: true, ..safe() }),
            ("xxl-short-token: 8 characters", Facts { xxl_token_length: Some(8), ..safe() }),
            (
                "xxl-plain: http://10.0.0.1:9999/",
                Facts { plain_executors: names(&["http://10.0.0.1:9999/"]), ..safe() },
            ),
            ("runs-as-root: box-1, box-2", Facts { root_agents: names(&["box-1", "box-2"]), ..safe() }),
            ("agents-without-policy: box-1", Facts { lawless_agents: names(&["box-1"]), ..safe() }),
            ("private-networks: acme", Facts { private_tenants: names(&["acme"]), ..safe() }),
            ("keys-open: x.key has mode 644", Facts { key_files: vec![("x.key".into(), 0o100644)], ..safe() }),
            ("keys-open: x.key has mode 660", Facts { key_files: vec![("x.key".into(), 0o100660)], ..safe() }),
            ("data-open: duly-data has mode 755", Facts { data_mode: 0o40755, ..safe() }),
            ("built-for-tests: feature faults", Facts { has_faults: true, ..safe() }),
            ("endless-tokens: ci of ada", Facts { endless_tokens: names(&["ci of ada"]), ..safe() }),
            ("many-administrators: a, b, c, d", Facts { administrators: names(&["a", "b", "c", "d"]), ..safe() }),
            ("known-passwords: bob", Facts { must_change: names(&["bob"]), ..safe() }),
        ];
        for (expected, facts) in &table {
            assert_eq!(found(facts), [*expected]);
            assert!(judge(facts).score < 100);
        }
    }

    #[test]
    fn a_score_does_not_go_below_nothing() {
        let facts = Facts {
            listen: ([0, 0, 0, 0], 1).into(),
            agent_tls: false,
            xxl_allows_empty: true,
            data_mode: 0o777,
            has_faults: true,
            ..safe()
        };
        assert_eq!(judge(&facts).score, 0);
    }
}
