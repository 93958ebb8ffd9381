//! How busy the machine is, measured only when a heartbeat asks.

use std::path::{Path, PathBuf};

use model::Timestamp;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
use wire::link::Beat;

pub(crate) struct Load {
    /// None where the system does not tell.
    system: Option<System>,
    data: PathBuf,
}

impl Load {
    pub(crate) fn new(data: &Path) -> Load {
        let what = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing().with_usage())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        Load { system: System::new_with_specifics(what).ok(), data: data.to_owned() }
    }

    pub(crate) fn beat(&mut self, sent_at: Timestamp, running: u32) -> Beat {
        let (cpu_percent, memory_percent) = self.system.as_mut().map(measure).unwrap_or_default();
        Beat { sent_at: sent_at.0, cpu_percent, memory_percent, disk_percent: disk_percent(&self.data), running }
    }
}

fn measure(system: &mut System) -> (f32, f32) {
    system.refresh_cpu_usage();
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    (system.global_cpu_usage(), percent(system.used_memory(), system.total_memory()))
}

/// Of the disk the agent keeps its data on.
fn disk_percent(path: &Path) -> f32 {
    let Ok(stat) = nix::sys::statvfs::statvfs(path) else { return 0.0 };
    percent(stat.blocks() - stat.blocks_available().min(stat.blocks()), stat.blocks())
}

fn percent(part: u64, whole: u64) -> f32 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 100.0) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_tells_shares_of_a_hundred() {
        let beat = Load::new(Path::new("/")).beat(Timestamp(5), 2);
        assert_eq!((beat.sent_at, beat.running), (5, 2));
        for share in [beat.cpu_percent, beat.memory_percent, beat.disk_percent] {
            assert!((0.0..=100.0).contains(&share), "{beat:?}");
        }
        assert!(beat.memory_percent > 0.0);
    }
}
