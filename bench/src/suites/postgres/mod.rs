//! Everything on PostgreSQL: one server and two beside the bare floor on the same database, and how long a cluster takes
//! when a server dies or drains. What a run costs is counted in all processes that take part, the same way for both
//! sides: servers, agent, and every process of the database.

mod busy;
mod idle;
mod moves;
mod paced;

use super::Bench;
use crate::database::Postgres;
use crate::figure::Figure;

const SUITE: &str = "postgres";

pub(crate) fn run(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let postgres = Postgres::start(&bench.fresh("postgres")?)?;
    let mut figures = busy::run(bench, &postgres)?;
    figures.extend(paced::run(bench, &postgres)?);
    figures.extend(moves::run(bench, &postgres)?);
    figures.extend(idle::run(bench, &postgres)?);
    Ok(figures)
}
