//! The figures for people: one line each, and whether what was promised was met.

use comfy_table::{CellAlignment, Table, presets};

use crate::figure::{Figure, Target, median};

pub(crate) fn print(figures: &[Figure]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(["suite", "figure", "ours", "floor", "ours/floor", "target", ""]);
    for column in 2..=4 {
        table.column_mut(column).into_iter().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    }
    for figure in figures {
        let value = |values: &[f64]| median(values).map_or(String::new(), |value| with_unit(value, figure.unit));
        let targets: Vec<String> = figure.targets.iter().map(Target::to_string).collect();
        table.add_row([
            figure.suite.to_string(),
            figure.name.clone(),
            value(&figure.ours),
            value(&figure.floor),
            figure.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}x")),
            targets.join(", "),
            verdict(figure).into(),
        ]);
    }
    println!("{table}");
}

fn verdict(figure: &Figure) -> &'static str {
    let met: Vec<bool> = figure.targets.iter().filter_map(|target| figure.is_met(*target)).collect();
    match (figure.targets.is_empty(), met.len() == figure.targets.len(), met.iter().all(|met| *met)) {
        (true, ..) => "",
        (false, false, _) => "not measured",
        (false, true, true) => "ok",
        (false, true, false) => "MISSED",
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { 2 };
    format!("{value:.digits$} {unit}")
}
