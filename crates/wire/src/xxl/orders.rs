//! What an executor is told and asked. Every field is always there and no text is ever null: some SDKs break otherwise.

use serde::Serialize;

/// Which of two names an executor knows some calls by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Up to 3.4.
    #[default]
    Run,
    /// From 3.5 on: such an executor names its app in a header.
    Trigger,
}

impl Dialect {
    pub fn call(self) -> &'static str {
        match self {
            Dialect::Run => "run",
            Dialect::Trigger => "trigger",
        }
    }

    pub fn other(self) -> Dialect {
        match self {
            Dialect::Run => Dialect::Trigger,
            Dialect::Trigger => Dialect::Run,
        }
    }
}

/// One run, as it is ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub job_id: i32,
    pub executor_handler: String,
    pub executor_params: String,
    pub executor_block_strategy: &'static str,
    /// Seconds; 0 for none.
    pub executor_timeout: i64,
    pub log_id: i64,
    /// Milliseconds; `/log` must name the very same.
    pub log_date_time: i64,
    pub glue_type: GlueType,
    pub glue_source: String,
    pub glue_updatetime: i64,
    pub broadcast_index: u32,
    pub broadcast_total: u32,
}

/// What an executor runs: a handler it has, or a script it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum GlueType {
    #[serde(rename = "BEAN")]
    Bean,
    #[serde(rename = "GLUE_GROOVY")]
    Groovy,
    #[serde(rename = "GLUE_SHELL")]
    Shell,
    #[serde(rename = "GLUE_PYTHON")]
    Python,
    #[serde(rename = "GLUE_PYTHON2")]
    Python2,
    #[serde(rename = "GLUE_NODEJS")]
    Node,
    #[serde(rename = "GLUE_POWERSHELL")]
    PowerShell,
    #[serde(rename = "GLUE_PHP")]
    Php,
}

impl Run {
    pub fn body(&self) -> String {
        serde_json::to_string(self).expect("plain fields become JSON")
    }
}

/// The body of `/idleBeat` and `/kill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobQuestion {
    pub job_id: i32,
}

impl JobQuestion {
    pub fn body(self) -> String {
        serde_json::to_string(&self).expect("plain fields become JSON")
    }
}

/// The body of `/log`, with the time under its old and its new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogQuestion {
    pub log_id: i64,
    pub log_date_time: i64,
    pub from_line: i64,
}

impl LogQuestion {
    pub fn body(self) -> String {
        let (time, from) = (self.log_date_time, self.from_line);
        serde_json::json!({ "logId": self.log_id, "logDateTim": time, "logDateTime": time, "fromLineNum": from })
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_all_twelve_keys_and_no_null() {
        let run = Run {
            job_id: 7,
            executor_handler: "demo".into(),
            executor_params: String::new(),
            executor_block_strategy: "SERIAL_EXECUTION",
            executor_timeout: 0,
            log_id: 41,
            log_date_time: 1_700_000_000_123,
            glue_type: GlueType::Bean,
            glue_source: String::new(),
            glue_updatetime: 0,
            broadcast_index: 0,
            broadcast_total: 1,
        };
        expect_test::expect![[r#"{"jobId":7,"executorHandler":"demo","executorParams":"","executorBlockStrategy":"SERIAL_EXECUTION","executorTimeout":0,"logId":41,"logDateTime":1700000000123,"glueType":"BEAN","glueSource":"","glueUpdatetime":0,"broadcastIndex":0,"broadcastTotal":1}"#]]
        .assert_eq(&run.body());
    }

    #[test]
    fn questions_name_the_time_as_every_version_wants_it() {
        assert_eq!(JobQuestion { job_id: 7 }.body(), r#"{"jobId":7}"#);
        let log = LogQuestion { log_id: 4, log_date_time: 9, from_line: 1 }.body();
        assert_eq!(log, r#"{"fromLineNum":1,"logDateTim":9,"logDateTime":9,"logId":4}"#);
    }
}
