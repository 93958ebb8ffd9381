//! What sort of work a task is, as far as it matters for who may run it.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskSort {
    Shell,
    Python,
    Node,
    Php,
    Powershell,
    Command,
    Http,
}

impl TaskSort {
    pub const ALL: [TaskSort; 7] = [
        TaskSort::Shell,
        TaskSort::Python,
        TaskSort::Node,
        TaskSort::Php,
        TaskSort::Powershell,
        TaskSort::Command,
        TaskSort::Http,
    ];

    /// Its key in a job file.
    pub fn key(self) -> &'static str {
        match self {
            TaskSort::Shell => "sh",
            TaskSort::Python => "python",
            TaskSort::Node => "node",
            TaskSort::Php => "php",
            TaskSort::Powershell => "powershell",
            TaskSort::Command => "command",
            TaskSort::Http => "http",
        }
    }

    pub fn of_key(key: &str) -> Option<TaskSort> {
        TaskSort::ALL.into_iter().find(|sort| sort.key() == key)
    }
}

impl fmt::Display for TaskSort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// Those somebody may run; all if nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskSorts(u8);

impl TaskSorts {
    pub const ALL: TaskSorts = TaskSorts(0b111_1111);
    pub const NONE: TaskSorts = TaskSorts(0);

    pub fn has(self, sort: TaskSort) -> bool {
        self.0 & (1 << sort as u8) != 0
    }

    #[must_use]
    pub fn with(self, sort: TaskSort) -> TaskSorts {
        TaskSorts(self.0 | (1 << sort as u8))
    }

    pub fn iter(self) -> impl Iterator<Item = TaskSort> {
        TaskSort::ALL.into_iter().filter(move |sort| self.has(*sort))
    }

    /// As told by somebody who may know sorts we do not.
    pub fn of_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> TaskSorts {
        keys.into_iter().filter_map(TaskSort::of_key).fold(TaskSorts::NONE, TaskSorts::with)
    }
}

impl Default for TaskSorts {
    fn default() -> TaskSorts {
        TaskSorts::ALL
    }
}

impl fmt::Debug for TaskSorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_are_told_by_their_keys() {
        assert_eq!(TaskSort::ALL.into_iter().fold(TaskSorts::NONE, TaskSorts::with), TaskSorts::ALL);
        let two = TaskSorts::of_keys(["http", "command", "of a newer version"]);
        assert_eq!(two.iter().map(TaskSort::key).collect::<Vec<_>>(), ["command", "http"]);
        assert!(!two.has(TaskSort::Shell));
    }
}
