//! A store that was used for days: jobs in folders, their instances, and around them as many of everything else as a list
//! shows.

use std::path::Path;
use std::time::Instant;

use model::{Ending, Failure, Span, Timestamp};
use wire::api::{
    GrantBody, GroupBody, PersonBody, PersonKind, PoolBody, QuotasBody, ResourceBody, RoleBody, SecretBody, TenantBody,
    TriggerBody, VariableBody, XxlTokenBody,
};
use wire::job::{CronForm, JobBody, ScriptForm};

use super::{Bench, SUITE};
use crate::fixture::Fixture;
use crate::measure;
use crate::product::{self, Product};

const JOBS: usize = 20_000;
const FOLDERS: usize = 50;
/// Instances of each job.
const EACH: i64 = 50;
const DAYS: i64 = 5;
/// One in so many failed, or died.
const FAILED: i64 = 200;
const DEAD: i64 = 500;
/// Of what has no million: a page of each.
const OTHERS: usize = 50;
const RUNNING: usize = 5;
/// The job whose history is asked for.
pub(super) const ASKED: usize = 123;

/// Twenty characters, as many as are typed.
pub(super) fn name(n: usize) -> String {
    format!("nightly_report_{n:05}")
}

/// Before a server has it open. Gives back the API token.
pub(super) fn store(bench: &Bench, dir: &Path) -> anyhow::Result<String> {
    let data = dir.join("data");
    let token = product::set_up(&bench.duly, dir, &data)?;
    let began = Instant::now();
    let mut fixture = Fixture::open(&data)?;
    for n in 1..OTHERS {
        fixture.agent(format!("machine-{n}"), format!("rack-{}", n % 10))?;
    }
    let jobs = fixture.jobs((0..JOBS).map(job))?;
    let apart = Span::secs(DAYS * 86_400 / EACH);
    let begin = Timestamp(measure::now_us()) - apart.saturating_mul(EACH);
    for turn in 0..EACH {
        for (n, job) in jobs.iter().enumerate() {
            // Spread over the interval, as a real plan would be.
            let planned = begin + apart.saturating_mul(turn) + Span(apart.0 / JOBS as i64 * n as i64);
            fixture.ended(job, planned, ending(turn + n as i64))?;
        }
    }
    fixture.commit()?;
    let count = EACH * JOBS as i64;
    eprintln!("{SUITE}: {count} instances of {JOBS} jobs made in {:.0} s", began.elapsed().as_secs_f64());
    Ok(token)
}

fn ending(n: i64) -> Ending {
    match (n % DEAD, n % FAILED) {
        (0, _) => Ending::Dead(Failure::Exit),
        (_, 0) => Ending::Failed(Failure::Exit),
        _ => Ending::Succeeded,
    }
}

fn job(n: usize) -> JobBody {
    JobBody {
        job: name(n),
        folder: Some(format!("team_{}", n % FOLDERS)),
        description: Some(format!("Gathers what team {} sold and sends it.", n % FOLDERS)),
        // Not while somebody measures.
        cron: Some(CronForm::Short("0 0 3 1 1 ?".into())),
        noop: Some(true),
        ..JobBody::default()
    }
}

/// What is made by people, and a few instances that run.
pub(super) fn around(product: &Product) -> anyhow::Result<()> {
    for n in 0..OTHERS {
        one_of_each(product, n)?;
    }
    let names: Vec<String> = (0..RUNNING).map(|n| format!("long_{n}")).collect();
    let long = |name: &String| JobBody {
        job: name.clone(),
        manual: Some(true),
        sh: Some(ScriptForm::Short("sleep 3600".into())),
        ..JobBody::default()
    };
    product.apply(&names.iter().map(long).collect::<Vec<_>>())?;
    for name in &names {
        product.call(|client| async move { client.trigger(name, &TriggerBody::default(), None).await })?;
    }
    Ok(())
}

fn one_of_each(product: &Product, n: usize) -> anyhow::Result<()> {
    product.call(|client| async move {
        let (person, group, pool) = (format!("robot_{n}"), format!("group_{n}"), format!("pool-{n}"));
        let body = PersonBody { name: person.clone(), kind: PersonKind::Service, password: None, provider: false };
        client.create_person(&body).await?;
        client.create_group(&GroupBody { name: group.clone() }).await?;
        client.join_group(&group, &person).await?;
        let grant = GrantBody { person: Some(person), role: "viewer".into(), ..GrantBody::default() };
        client.create_grant(&grant).await?;
        client.put_role(&format!("role_{n}"), &RoleBody { permissions: vec!["job.see".into()] }).await?;
        client.put_pool(&pool, &PoolBody { limit: Some(10), ..PoolBody::default() }).await?;
        client.put_resource(&format!("resource_{n}"), &ResourceBody { units: 3 }).await?;
        let variable = VariableBody { value: format!("value {n}"), ..VariableBody::default() };
        client.put_variable(&format!("variable_{n}"), &variable).await?;
        let secret = SecretBody { value: format!("no secret {n}"), folder: None };
        client.put_secret(&format!("secret_{n}"), &secret).await?;
        client.create_xxl_token(&XxlTokenBody { pool: Some(pool) }).await?;
        let tenant = TenantBody { name: format!("tenant-{n}"), quotas: QuotasBody::default(), ..TenantBody::default() };
        client.create_tenant(&tenant).await.map(drop)
    })
}
