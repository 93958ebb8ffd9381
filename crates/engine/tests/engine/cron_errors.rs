//! A refused expression names the field, the byte and the reason.

use duly_engine::cron::{EXPRESSION_MAX, Field, Pattern};
use expect_test::{Expect, expect};
use model::CronDialect;

fn check(dialect: CronDialect, expressions: &[&str], told: Expect) {
    let lines = expressions.iter().map(|text| match Pattern::parse(dialect, text) {
        Ok(_) => format!("{text:<24} accepted\n"),
        Err(refused) => format!("{text:<24} {refused}\n"),
    });
    told.assert_eq(&lines.collect::<String>());
}

fn quartz(expressions: &[&str], told: Expect) {
    check(CronDialect::Quartz, expressions, told);
}

fn unix(expressions: &[&str], told: Expect) {
    check(CronDialect::Unix, expressions, told);
}

#[test]
fn values_outside_their_field() {
    quartz(
        &[
            "60 * * * * ?",
            "0 75 * * * ?",
            "0 0 24 * * ?",
            "0 0 5-24 * * ?",
            "0 0 0 0 * ?",
            "0 0 0 1,32 * ?",
            "0 0 0 1 13 ?",
            "0 0 0 ? * 8",
            "0 0 0 ? * 0",
        ],
        expect![[r#"
            60 * * * * ?             second field, position 0: 60 is above 59
            0 75 * * * ?             minute field, position 2: 75 is above 59
            0 0 24 * * ?             hour field, position 4: 24 is above 23
            0 0 5-24 * * ?           hour field, position 6: 24 is above 23
            0 0 0 0 * ?              day-of-month field, position 6: 0 is below 1
            0 0 0 1,32 * ?           day-of-month field, position 8: 32 is above 31
            0 0 0 1 13 ?             month field, position 8: 13 is above 12
            0 0 0 ? * 8              day-of-week field, position 10: 8 is above 7 (1=SUN … 7=SAT)
            0 0 0 ? * 0              day-of-week field, position 10: 0 is below 1 (1=SUN … 7=SAT)
        "#]],
    );
}

#[test]
fn the_two_day_fields() {
    quartz(
        &[
            "0 0 0 13 * FRI",
            "0 0 0 * * *",
            "0 0 0 ? * ?",
            "0 0 0 L,15 * ?",
            "0 0 0 ? * 6L,2L",
            "0 0 0 ? * 2#1,6#3",
            "0 0 0 ? * 6#6",
            "0 0 0 ? * 9L",
            "0 0 0 L-31 * ?",
            "0 0 0 32W * ?",
            "0 0 0 0W * ?",
            "0 0 ? * * ?",
            "0 0 0 ?5x * 2",
        ],
        expect![[r#"
            0 0 0 13 * FRI           day-of-week field, position 11: one of the two day fields must be ?
            0 0 0 * * *              day-of-week field, position 10: one of the two day fields must be ?
            0 0 0 ? * ?              day-of-week field, position 10: only one of the two day fields can be ?
            0 0 0 L,15 * ?           day-of-month field, position 6: L cannot be combined with other days
            0 0 0 ? * 6L,2L          day-of-week field, position 10: L cannot be combined with other days
            0 0 0 ? * 2#1,6#3        day-of-week field, position 10: only one # is possible
            0 0 0 ? * 6#6            day-of-week field, position 12: a number from 1 to 5 must follow #
            0 0 0 ? * 9L             day-of-week field, position 10: 9 is no weekday (1=SUN … 7=SAT)
            0 0 0 L-31 * ?           day-of-month field, position 8: 31 is above 30 days before the last
            0 0 0 32W * ?            day-of-month field, position 6: 32W is no day of a month
            0 0 0 0W * ?             day-of-month field, position 6: 0W is no day of a month
            0 0 ? * * ?              hour field, position 4: ? is only possible for day-of-month and day-of-week
            0 0 0 ?5x * 2            day-of-month field, position 7: nothing can follow ?
        "#]],
    );
}

#[test]
fn steps_names_and_strangers() {
    quartz(
        &[
            "0 0/60 * * * ?",
            "0 */61 * * * ?",
            "0 0 0 ? * */8",
            "0/ * * * * ?",
            "0/5x * * * * ?",
            "*/x * * * * ?",
            "0- * * * * ?",
            "0 0 0 1 JANVIER ?",
            "0 0 0 1 FOO ?",
            "0 0 0 ? * MON-XYZ",
            "0 0 MON * * ?",
            "0 0 5L * * ?",
            "0 0 5W * * ?",
            "0 0 5#1 * * ?",
            ", * * * * ?",
            "é * * * * ?",
            "0 0 0 1 1 ? 2030-2027",
            "99999999999 * * * * ?",
        ],
        expect![[r#"
            0 0/60 * * * ?           minute field, position 4: step 60 is above 59
            0 */61 * * * ?           minute field, position 4: step 61 is above 59
            0 0 0 ? * */8            day-of-week field, position 12: step 8 is above 7
            0/ * * * * ?             second field, position 2: a number is needed
            0/5x * * * * ?           second field, position 3: unexpected text after the step
            */x * * * * ?            second field, position 2: a whole number must follow /
            0- * * * * ?             second field, position 2: a number is needed
            0 0 0 1 JANVIER ?        accepted
            0 0 0 1 FOO ?            month field, position 8: no month is called 'foo'
            0 0 0 ? * MON-XYZ        day-of-week field, position 14: no weekday is called 'xyz'
            0 0 MON * * ?            hour field, position 4: a number is needed, not 'mon'
            0 0 5L * * ?             hour field, position 5: L is not possible here
            0 0 5W * * ?             hour field, position 5: W is not possible here
            0 0 5#1 * * ?            hour field, position 5: # is not possible here
            , * * * * ?              second field, position 0: no value is given
            é * * * * ?              second field, position 0: unexpected character 'é'
            0 0 0 1 1 ? 2030-2027    year field, position 12: 2030 is after 2027
            99999999999 * * * * ?    second field, position 0: the number is too large
        "#]],
    );
}

#[test]
fn too_few_fields() {
    quartz(
        &["", "   ", "0 0 12", "0 0 12 * *", "@daily", "H H * * *"],
        expect![[r#"
                                     second field, position 0: missing; 6 or 7 fields are needed
                                     second field, position 3: missing; 6 or 7 fields are needed
            0 0 12                   day-of-month field, position 6: missing; 6 or 7 fields are needed
            0 0 12 * *               day-of-week field, position 10: missing; 6 or 7 fields are needed
            @daily                   second field, position 0: nicknames belong to the crontab dialect
            H H * * *                second field, position 0: a number is needed, not 'h'
        "#]],
    );
    unix(
        &["", "0 0 12", "0 0 * * 1 2026", "0 0 0 * * ?", "@reboot"],
        expect![[r#"
                                     minute field, position 0: missing; 5 fields are needed
            0 0 12                   month field, position 6: missing; 5 fields are needed
            0 0 * * 1 2026           expression, position 10: a crontab expression has only 5 fields
            0 0 0 * * ?              expression, position 10: a crontab expression has only 5 fields
            @reboot                  expression, position 0: unknown nickname; known are @hourly @daily @midnight @weekly @monthly @yearly @annually
        "#]],
    );
}

#[test]
fn crontab_texts() {
    unix(
        &[
            "60 * * * *",
            "* 24 * * *",
            "0 0 0 * *",
            "0 0 1 13 *",
            "0 0 * * 8",
            "0 0 ? * *",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 * * 5#2",
            "*/0 * * * *",
            "*/ * * * *",
            "5- * * * *",
            "5,,6 * * * *",
            "20-10 * * * *",
            "0 0 * * SAT-MON",
            "0 0 * * FRI-SUN",
            "0 0 1 JANUARY *",
            "-5 * * * *",
            "99999999999 * * * *",
            "5/15 * * * *",
        ],
        expect![[r#"
            60 * * * *               minute field, position 0: 60 is above 59
            * 24 * * *               hour field, position 2: 24 is above 23
            0 0 0 * *                day-of-month field, position 4: 0 is below 1
            0 0 1 13 *               month field, position 6: 13 is above 12
            0 0 * * 8                day-of-week field, position 8: 8 is above 7 (0=SUN … 6=SAT, 7=SUN)
            0 0 ? * *                day-of-month field, position 4: ? belongs to the Quartz dialect
            0 0 L * *                day-of-month field, position 4: L belongs to the Quartz dialect
            0 0 15W * *              day-of-month field, position 6: W belongs to the Quartz dialect
            0 0 * * 5#2              day-of-week field, position 9: # belongs to the Quartz dialect
            */0 * * * *              minute field, position 2: a step of 0 never moves
            */ * * * *               minute field, position 2: a value is missing
            5- * * * *               minute field, position 2: a value is missing
            5,,6 * * * *             minute field, position 2: a value is missing
            20-10 * * * *            minute field, position 0: 20 is after 10
            0 0 * * SAT-MON          day-of-week field, position 8: 6 is after 1
            0 0 * * FRI-SUN          accepted
            0 0 1 JANUARY *          month field, position 6: 'JANUARY' is neither a number nor a known name
            -5 * * * *               minute field, position 0: a value is missing
            99999999999 * * * *      minute field, position 0: the number is too large
            5/15 * * * *             accepted
        "#]],
    );
}

#[test]
fn the_error_can_be_read_by_programs() {
    let refused = Pattern::parse(CronDialect::Quartz, "0 0 0 ? * 8").unwrap_err();
    assert_eq!((refused.field, refused.at), (Field::DayOfWeek, 10));
    assert_eq!(refused.to_string(), "day-of-week field, position 10: 8 is above 7 (1=SUN … 7=SAT)");
}

#[test]
fn length_is_bounded() {
    let padded = |length: usize| format!("{:<length$}", "0 0 12 * * ?");
    assert!(Pattern::parse(CronDialect::Quartz, &padded(EXPRESSION_MAX)).is_ok());
    let refused = Pattern::parse(CronDialect::Quartz, &padded(EXPRESSION_MAX + 1)).unwrap_err();
    assert_eq!(refused.to_string(), "expression, position 512: longer than 512 bytes");
}

#[test]
fn a_pattern_stays_small() {
    assert!(size_of::<Pattern>() <= 48, "{}", size_of::<Pattern>());
}
