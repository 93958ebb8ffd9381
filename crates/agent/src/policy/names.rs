//! Names of variables: lists of them, and those that make a program load other code than its own.

/// As listed in a file: a name, or the beginning of names with a star.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names(pub(super) Vec<String>);

impl Names {
    /// It is named in full.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    pub(super) fn covers(&self, name: &str) -> bool {
        let matches = |known: &String| known.strip_suffix('*').is_some_and(|begin| name.starts_with(begin));
        self.0.iter().any(matches)
    }

    pub(super) fn texts(&self) -> Vec<String> {
        self.0.clone()
    }
}

const BEGINNINGS: [&str; 3] = ["LD_", "DYLD_", "BASH_FUNC_"];
const NAMES: [&str; 20] = [
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "JAVA_TOOL_OPTIONS",
];

/// Whoever sets it has the program do more than it was allowed for.
pub(super) fn loads_code(name: &str) -> bool {
    BEGINNINGS.iter().any(|begin| name.starts_with(begin)) || NAMES.contains(&name)
}
