//! Job files on this machine: finds them, reads them, puts script files in place, remembers what came from where.

use std::io::Read;
use std::path::{Path, PathBuf};

use wire::job::{self, JobBody, check};
use wire::{Code, Fault};

use crate::failure::Failure;

/// All jobs of a call, and the files they came from.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) jobs: Vec<JobBody>,
    /// For each job: its file, and its number in it.
    origins: Vec<(usize, usize)>,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    name: String,
    text: String,
}

impl Loaded {
    /// Files, folders (their YAML and JSON files, recursively) or `-` for standard input.
    /// What could be read, and what is wrong with it.
    pub(crate) fn read(paths: &[PathBuf]) -> Result<(Loaded, Vec<Fault>), Failure> {
        let mut loaded = Loaded::default();
        let mut faults = Vec::new();
        for path in find(paths)? {
            let text = if path == Path::new("-") { read_stdin()? } else { read_text(&path)? };
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            faults.extend(loaded.add(path.display().to_string(), text, &folder));
        }
        Ok((loaded, faults))
    }

    /// Adds one file; script files are looked for beside it. Answers with what is wrong.
    pub(crate) fn add(&mut self, name: String, text: String, folder: &Path) -> Vec<Fault> {
        let file = self.files.len();
        let json = name.ends_with(".json");
        let read = if json { job::read_file(&name, &text) } else { read_with_scripts(&text, folder) };
        self.files.push(File { name, text });
        for (n, job) in read.jobs {
            self.origins.push((file, n));
            self.jobs.push(job);
        }
        read.faults.into_iter().map(|fault| self.in_file(file, fault)).collect()
    }

    /// A fault the server found in `jobs[n]`, told in terms of the file it came from.
    pub(crate) fn trace(&self, fault: Fault) -> Fault {
        let Some((n, rest)) = fault.path.strip_prefix("jobs[").and_then(|path| path.split_once(']')) else {
            return fault;
        };
        let Some(&(file, at)) = n.parse::<usize>().ok().and_then(|n| self.origins.get(n)) else {
            return fault;
        };
        let inner = Fault { path: rest.trim_start_matches('.').to_owned(), ..fault.clone() };
        let inner = match self.files[file].name.ends_with(".json") {
            true => inner,
            false => job::locate(&self.files[file].text, at, inner),
        };
        self.in_file(file, inner.below(&format!("jobs[{at}]")))
    }

    fn in_file(&self, file: usize, mut fault: Fault) -> Fault {
        let name = &self.files[file].name;
        fault.path = if fault.path.is_empty() { name.clone() } else { format!("{name}: {}", fault.path) };
        fault
    }
}

/// Script files are read first: a job that names one is checked with its text.
fn read_with_scripts(text: &str, folder: &Path) -> job::Read {
    let mut read = job::read_yaml_unchecked(text);
    for (n, body) in &mut read.jobs {
        let found = match body.inline_files(|key, file| read_script(key, &folder.join(file))) {
            Err(fault) => vec![*fault],
            Ok(()) => body.check(),
        };
        let placed = found.into_iter().map(|fault| job::locate(text, *n, fault).below(&format!("jobs[{n}]")));
        read.faults.extend(placed);
    }
    read
}

fn read_script(key: &str, path: &Path) -> Result<String, Box<Fault>> {
    std::fs::read_to_string(path).map_err(|error| {
        let what = format!("cannot read the script {}: {error}", path.display());
        Box::new(Fault::new(Code::BadFile, key, what).hint("the path is taken from the folder of the job file"))
    })
}

fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        if path != Path::new("-") && path.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                let what = format!("{} holds no .yaml, .yml or .json file", path.display());
                return Err(Failure::usage(Code::BadFile, what));
            }
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| cannot_read(folder, &error);
    let mut entries: Vec<_> = std::fs::read_dir(folder).map_err(cannot)?.collect::<Result<_, _>>().map_err(cannot)?;
    // By name, so that the same folder always makes the same plan.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link may lead in a circle; only real folders are entered.
        if entry.file_type().map_err(cannot)?.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|ext| ["yaml", "yml", "json"].iter().any(|known| ext == *known)) {
            found.push(path);
        }
    }
    Ok(())
}

pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let size = std::fs::metadata(path).map_err(|error| cannot_read(path, &error))?.len();
    if size > check::FILE_MAX as u64 {
        let what = format!("{} is larger than {} bytes", path.display(), check::FILE_MAX);
        return Err(Failure::usage(Code::BadFile, what));
    }
    std::fs::read_to_string(path).map_err(|error| cannot_read(path, &error))
}

fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let bound = check::FILE_MAX as u64 + 1;
    let read = std::io::stdin().lock().take(bound).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| cannot_read(Path::new("standard input"), &error))
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(Code::BadFile, format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::USAGE;
    use crate::out::Out;

    #[test]
    fn a_folder_is_read_with_its_scripts_and_its_faults_are_told_by_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("b.yaml", "job: b\npython: { file: b.py }\n");
        write("b.py", "print(1)\n");
        write("sub/a.yml", "job: a\nnoop: true\n---\njob: c\nevery: 5s\nnoop: true\n");
        write("notes.txt", "not: a job");
        let (loaded, faults) = Loaded::read(&[folder.path().into()]).unwrap();
        assert_eq!(faults, []);
        let names: Vec<&str> = loaded.jobs.iter().map(|job| job.job.as_str()).collect();
        assert_eq!(names, ["b", "a", "c"]);

        let told = loaded.trace(Fault::new(Code::BadCron, "jobs[2].every", "too often"));
        assert!(told.path.ends_with("a.yml: jobs[1].every"), "{}", told.path);
        assert_eq!(told.line, Some(5));

        write("sub/a.yml", "job: a\nnop: true\n");
        write("b.yaml", "job: b\npython: { file: gone.py }\n");
        let (_, faults) = Loaded::read(&[folder.path().into()]).unwrap();
        let failure = Failure::of_faults(Code::BadJobs, faults, USAGE);
        let shown = failure.render(&Out::plain("2026-11-15T10:00:00Z"));
        let shown = shown.replace(&folder.path().display().to_string(), "DIR");
        expect_test::expect![[r#"
            error[E0804]: cannot read the script DIR/gone.py: No such file or directory (os error 2)
              at DIR/b.yaml: jobs[0].python.file line 2, column 17
                1 | job: b
                2 | python: { file: gone.py }
                  |                 ^
              help: the path is taken from the folder of the job file
            error[E0202]: there is no key `nop` here
              at DIR/sub/a.yml: jobs[0] line 2, column 1
                1 | job: a
                2 | nop: true
                  | ^
              help: did you mean `noop`?
            error[E0203]: 2 things are wrong
              help: Mend what is listed under errors; nothing was changed.
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn a_missing_file_is_named() {
        let failure = Loaded::read(&["/no/such/file.yaml".into()]).unwrap_err();
        assert!(failure.problem.detail.starts_with("cannot read /no/such/file.yaml"), "{}", failure.problem.detail);
        assert_eq!((failure.problem.code.as_str(), failure.exit), ("E0804", USAGE));
    }
}
