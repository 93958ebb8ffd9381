//! What another shard or a person may hold already: asked for last in a batch, in the order of names, answered in the
//! order of asking.

use engine::change::{Claim, ClaimAnswer};
use rustc_hash::FxHashMap;

use super::column::{ints, texts};
use super::conn::{Conn, Value};
use super::error::Fault;
use super::row::small;
use super::sql;
use crate::code;

/// Somebody may let go between our two looks; then we ask again.
const TRIES: usize = 5;

pub(super) async fn claim(conn: &Conn, claims: &[&Claim]) -> Result<Vec<ClaimAnswer>, Fault> {
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    // Of two who ask for the same name in one batch the first has it.
    let mut first: Vec<&Claim> = claims.to_vec();
    first.sort_by(|a, b| code::claim(&a.name).cmp(&code::claim(&b.name)));
    first.dedup_by(|later, kept| later.name == kept.name);
    for _ in 0..TRIES {
        let mut values = names(&first);
        values.push(ints(&first, |claim| claim.holder));
        values.push(ints(&first, |claim| claim.at.0));
        let put: Vec<_> = values.iter().map(|value| &**value as _).collect();
        conn.execute(sql::PUT_CLAIMS, &put).await?;
        let asked = names(&first);
        let asked: Vec<_> = asked.iter().map(|value| &**value as _).collect();
        let rows = conn.query(sql::HOLDERS, &asked).await?;
        let holders: FxHashMap<(i64, i64, &str), i64> =
            rows.iter().map(|row| ((small(row, 0), row.get(1), row.get(2)), row.get(3))).collect();
        let answers: Option<Vec<ClaimAnswer>> = claims.iter().map(|claim| answer(claim, &holders)).collect();
        if let Some(answers) = answers {
            return Ok(answers);
        }
    }
    Err(Fault::Store(crate::StoreError::Busy("a name changes hands all the time".into())))
}

fn answer(claim: &Claim, holders: &FxHashMap<(i64, i64, &str), i64>) -> Option<ClaimAnswer> {
    let (kind, tenant, name) = code::claim(&claim.name);
    let holder = *holders.get(&(kind, tenant, &*super::column::text(name)))?;
    Some(ClaimAnswer { name: claim.name.clone(), wanted: claim.holder, holder })
}

fn names<'c>(claims: &[&'c Claim]) -> Vec<Value<'c>> {
    vec![
        ints(claims, |claim| code::claim(&claim.name).0),
        ints(claims, |claim| code::claim(&claim.name).1),
        texts(claims, |claim| code::claim(&claim.name).2),
    ]
}
