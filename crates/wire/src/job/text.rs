//! Job files as text: YAML with any number of documents, or JSON. Says where in the text a fault is.

use super::JobBody;
use super::check::FILE_MAX;
use super::lines::Lines;
use crate::errors::Code;
use crate::problem::Fault;

/// Every job of a YAML file, or every fault in it. Each fault's path begins with `jobs[n]`, its number in the file.
pub fn parse_yaml(text: &str) -> Result<Vec<JobBody>, Vec<Fault>> {
    read_yaml(text, JobBody::check).whole()
}

/// Without a look at what the values mean: for bodies that are completed before they are checked.
pub fn read_yaml_unchecked(text: &str) -> Read {
    read_yaml(text, |_| Vec::new())
}

/// What could be read of a text, and what is wrong with it: one fault must not hide those of its neighbours.
#[derive(Debug, Default)]
pub struct Read {
    /// With their numbers in the text.
    pub jobs: Vec<(usize, JobBody)>,
    pub faults: Vec<Fault>,
}

impl Read {
    fn wrong(fault: Fault) -> Read {
        Read { jobs: Vec::new(), faults: vec![fault] }
    }

    fn whole(self) -> Result<Vec<JobBody>, Vec<Fault>> {
        if self.faults.is_empty() { Ok(self.jobs.into_iter().map(|(_, job)| job).collect()) } else { Err(self.faults) }
    }
}

/// What can be read of a job file, checked: YAML, or JSON if its name says so.
pub fn read_file(name: &str, text: &str) -> Read {
    if name.ends_with(".json") { read_json(text) } else { read_yaml(text, JobBody::check) }
}

fn read_yaml(text: &str, check: impl Fn(&JobBody) -> Vec<Fault>) -> Read {
    if text.len() > FILE_MAX {
        return Read::wrong(Fault::new(Code::OverSize, "", format!("the file is larger than {FILE_MAX} bytes")));
    }
    let lines = Lines::of(text);
    let mut jobs = Vec::new();
    let mut faults = Vec::new();
    let mut reader = text.as_bytes();
    for (n, document) in serde_saphyr::read_with_options::<_, JobBody>(&mut reader, options()).enumerate() {
        match document {
            Ok(body) => {
                let here = format!("jobs[{n}]");
                faults.extend(check(&body).into_iter().map(|fault| lines.place(n, fault).below(&here)));
                jobs.push((n, body));
            }
            Err(error) => faults.push(lines.place_error(n, &error)),
        }
    }
    Read { jobs, faults }
}

/// Adds to a fault found later (by the server, say) its place in the YAML text: document `n`, path relative to the job.
pub fn locate(text: &str, n: usize, fault: Fault) -> Fault {
    Lines::of(text).place(n, fault)
}

/// One job, or a list of them.
pub fn parse_json(text: &str) -> Result<Vec<JobBody>, Vec<Fault>> {
    read_json(text).whole()
}

fn read_json(text: &str) -> Read {
    let one_or_many = match text.trim_start().starts_with('[') {
        true => serde_json::from_str::<Vec<JobBody>>(text),
        false => serde_json::from_str::<JobBody>(text).map(|one| vec![one]),
    };
    let jobs = one_or_many.map_err(|error| {
        let code = if error.is_data() { Code::BadShape } else { Code::BadText };
        let lines = Lines::of(text);
        let mut fault = Fault::new(code, "", error.to_string());
        lines.mark(&mut fault, error.line() as u32, error.column() as u32);
        fault
    });
    let jobs = match jobs {
        Ok(jobs) => jobs,
        Err(fault) => return Read::wrong(fault),
    };
    let faults: Vec<Fault> = jobs
        .iter()
        .enumerate()
        .flat_map(|(n, job)| job.check().into_iter().map(move |fault| fault.below(&format!("jobs[{n}]"))))
        .collect();
    Read { jobs: jobs.into_iter().enumerate().collect(), faults }
}

/// Jobs as YAML, in their shortest form.
pub fn export<'a>(jobs: impl IntoIterator<Item = &'a JobBody>) -> String {
    let one = |job: &JobBody| {
        let normal = job.normal().unwrap_or_else(|_| job.clone());
        serde_saphyr::to_string(&normal).expect("a body is plain data")
    };
    let documents: Vec<String> = jobs.into_iter().map(one).collect();
    documents.join("---\n")
}

/// Truth is `true` or `false`, so that `sh: yes` runs `yes`; nothing in a file may unfold to more than it looks.
pub(super) fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(FILE_MAX),
            max_documents: 100_000,
            max_depth: 64,
            max_aliases: 1000,
        },
    }
}
