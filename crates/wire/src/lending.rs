//! Shared limits as servers speak of them to each other: what shards have and want, and what they are lent. Fields are only
//! ever added.

use model::{Account, Budget, Holding, ShardId, Slice, Slices, TenantId, Term};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetBody {
    Pool { tenant: i64, name: String },
    Running { tenant: i64 },
    Installation,
    Starts { tenant: i64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountBody {
    pub shard: i64,
    pub term: i64,
    pub lender: i64,
    pub seq: u64,
    pub holdings: Vec<HoldingBody>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldingBody {
    pub budget: BudgetBody,
    pub limit: Option<u32>,
    pub used: u32,
    pub wanted: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlicesBody {
    pub shard: i64,
    pub term: i64,
    pub lender: i64,
    pub seq: u64,
    pub of: Vec<SliceBody>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceBody {
    pub budget: BudgetBody,
    pub total: u32,
    pub units: u32,
}

impl From<&Budget> for BudgetBody {
    fn from(budget: &Budget) -> BudgetBody {
        match budget {
            Budget::Pool(tenant, name) => BudgetBody::Pool { tenant: tenant.0, name: name.clone() },
            Budget::Running(tenant) => BudgetBody::Running { tenant: tenant.0 },
            Budget::Installation => BudgetBody::Installation,
            Budget::Starts(tenant) => BudgetBody::Starts { tenant: tenant.0 },
        }
    }
}

impl From<BudgetBody> for Budget {
    fn from(body: BudgetBody) -> Budget {
        match body {
            BudgetBody::Pool { tenant, name } => Budget::Pool(TenantId(tenant), name),
            BudgetBody::Running { tenant } => Budget::Running(TenantId(tenant)),
            BudgetBody::Installation => Budget::Installation,
            BudgetBody::Starts { tenant } => Budget::Starts(TenantId(tenant)),
        }
    }
}

impl From<&Account> for AccountBody {
    fn from(account: &Account) -> AccountBody {
        let Account { shard, term, lender, seq, holdings } = account;
        let holding = |held: &Holding| HoldingBody {
            budget: (&held.budget).into(),
            limit: held.limit,
            used: held.used,
            wanted: held.wanted,
        };
        let holdings = holdings.iter().map(holding).collect();
        AccountBody { shard: shard.0, term: term.0, lender: lender.0, seq: *seq, holdings }
    }
}

impl From<AccountBody> for Account {
    fn from(body: AccountBody) -> Account {
        let holding =
            |HoldingBody { budget, limit, used, wanted }| Holding { budget: budget.into(), limit, used, wanted };
        let holdings = body.holdings.into_iter().map(holding).collect();
        let (term, lender) = (Term(body.term), Term(body.lender));
        Account { shard: ShardId(body.shard), term, lender, seq: body.seq, holdings }
    }
}

impl From<&Slices> for SlicesBody {
    fn from(slices: &Slices) -> SlicesBody {
        let Slices { shard, term, lender, seq, of } = slices;
        let slice =
            |slice: &Slice| SliceBody { budget: (&slice.budget).into(), total: slice.total, units: slice.units };
        let of = of.iter().map(slice).collect();
        SlicesBody { shard: shard.0, term: term.0, lender: lender.0, seq: *seq, of }
    }
}

impl From<SlicesBody> for Slices {
    fn from(body: SlicesBody) -> Slices {
        let slice = |SliceBody { budget, total, units }| Slice { budget: budget.into(), total, units };
        let of = body.of.into_iter().map(slice).collect();
        let (term, lender) = (Term(body.term), Term(body.lender));
        Slices { shard: ShardId(body.shard), term, lender, seq: body.seq, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_slices_are_the_same_at_the_other_end() {
        let tenant = TenantId(7);
        let budgets =
            [Budget::Pool(tenant, "etl".into()), Budget::Running(tenant), Budget::Installation, Budget::Starts(tenant)];
        let (shard, term, lender) = (ShardId(3), Term(4), Term(5));
        let held = |budget: &Budget| Holding { budget: budget.clone(), limit: Some(9), used: 2, wanted: 3 };
        let account = Account { shard, term, lender, seq: 6, holdings: budgets.iter().map(held).collect() };
        let text = serde_json::to_string(&AccountBody::from(&account)).unwrap();
        assert_eq!(Account::from(serde_json::from_str::<AccountBody>(&text).unwrap()), account);
        let slice = |budget: &Budget| Slice { budget: budget.clone(), total: 9, units: 2 };
        let slices = Slices { shard, term, lender, seq: 6, of: budgets.iter().map(slice).collect() };
        let text = serde_json::to_string(&SlicesBody::from(&slices)).unwrap();
        assert_eq!(Slices::from(serde_json::from_str::<SlicesBody>(&text).unwrap()), slices);
    }
}
