//! Scripts as the agent keeps and runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use duly_agent::process::{ScriptError, ScriptKind, Scripts};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn output(argv: &[std::ffi::OsString]) -> String {
    let output = Command::new(&argv[0]).args(&argv[1..]).arg("one arg").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_kind_runs_with_its_interpreter_or_says_which_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let scripts = Scripts::new(data.path().join("scripts"), PATH);
    for (kind, source, program) in [
        (ScriptKind::Shell, "echo \"got $1\"", "sh"),
        (ScriptKind::Python, "import sys; print('got ' + sys.argv[1])", "python3"),
        (ScriptKind::Node, "console.log('got ' + process.argv[2])", "node"),
        (ScriptKind::Php, "<?php echo 'got ' . $argv[1] . \"\\n\";", "php"),
        (ScriptKind::PowerShell, "Write-Output \"got $($args[0])\"", "pwsh"),
    ] {
        let there = PATH.split(':').any(|dir| Path::new(dir).join(program).exists());
        match scripts.prepare(kind, source.as_bytes()) {
            Ok(argv) => assert_eq!(output(&argv), "got one arg\n", "{kind:?}"),
            Err(ScriptError::NoInterpreter { program: missing, .. }) => assert!(!there && missing == program),
            Err(other) => panic!("{other:?}"),
        }
    }
    let nowhere = Scripts::new(data.path(), "/no/such/dir").prepare(ScriptKind::Python, b"").unwrap_err();
    assert_eq!(nowhere.to_string(), "this machine has no python3 in its path, which a Python script needs");
}

#[test]
fn a_source_is_kept_once_privately_and_never_trusted() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("scripts");
    let scripts = Scripts::new(&dir, PATH);
    let argv = scripts.prepare(ScriptKind::Shell, b"echo good").unwrap();
    assert_eq!(scripts.prepare(ScriptKind::Shell, b"echo good").unwrap(), argv);
    let file = Path::new(argv.last().unwrap());
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(file, "echo evil").unwrap();
    assert_eq!(output(&scripts.prepare(ScriptKind::Shell, b"echo good").unwrap()), "good\n");
    assert_ne!(scripts.prepare(ScriptKind::Shell, b"echo other").unwrap(), argv);
}
