//! Which application, and how large is it?

use iostack_model::{App, Bytes, Commit, Job, Postmark, Tpcc};

use super::value::{Set, ValueError, bad, parsed};

/// Users or warehouses by our choice; more of them are another machine.
pub(super) const MOST: u32 = 4000;

pub(super) fn set(job: &mut Job, text: &str) -> Set {
    let app = match text {
        "tpcc" => App::Tpcc(Tpcc::default()),
        "postmark" => App::Postmark(Postmark::default()),
        _ => return bad("give tpcc or postmark"),
    };
    job.direct = matches!(app, App::Tpcc(_));
    job.app = Some(app);
    Ok(())
}

/// The job's TPC-C; it is one from now on, if it was no application.
pub(super) fn tpcc(job: &mut Job) -> Result<&mut Tpcc, ValueError> {
    if job.app.is_none() {
        set(job, "tpcc")?;
    }
    match &mut job.app {
        Some(App::Tpcc(tpcc)) => Ok(tpcc),
        _ => bad("it belongs to app=tpcc, and the job is another application"),
    }
}

/// The job's Postmark; as [`tpcc`].
pub(super) fn postmark(job: &mut Job) -> Result<&mut Postmark, ValueError> {
    if job.app.is_none() {
        set(job, "postmark")?;
    }
    match &mut job.app {
        Some(App::Postmark(postmark)) => Ok(postmark),
        _ => bad("it belongs to app=postmark, and the job is another application"),
    }
}

pub(super) fn set_commit(job: &mut Job, text: &str) -> Set {
    tpcc(job)?.commit = match text {
        "group" => Commit::Group,
        "serial" => Commit::Serial,
        _ => return bad("give group or serial"),
    };
    Ok(())
}

pub(super) fn set_sizes(job: &mut Job, text: &str) -> Set {
    let (smallest, largest) = text.split_once('-').unwrap_or((text, text));
    let (smallest, largest): (Bytes, Bytes) = (parsed(smallest.trim())?, parsed(largest.trim())?);
    let postmark = postmark(job)?;
    (postmark.smallest, postmark.largest) = (smallest, largest);
    if smallest.0 == 0 || smallest > largest { bad("give the smallest size first, above 0") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::set_option;
    use super::*;

    #[test]
    fn an_application_and_its_sizes_are_set() {
        let mut job = Job::default();
        for (name, value) in [("app", "tpcc"), ("warehouses", "70"), ("pool", "1g"), ("commit", "serial")] {
            set_option(&mut job, name, value).expect("sound");
        }
        let expected =
            Tpcc { warehouses: 70, pool: Bytes::gib(1), commit: Commit::Serial, ..Tpcc::default() };
        assert_eq!(job.app, Some(App::Tpcc(expected)));
        set_option(&mut job, "app", "postmark").expect("sound");
        set_option(&mut job, "file_size", "1k-20k").expect("sound");
        let Some(App::Postmark(postmark)) = &job.app else { panic!("{:?}", job.app) };
        assert_eq!((postmark.smallest, postmark.largest, job.direct), (Bytes::kib(1), Bytes::kib(20), false));
    }

    #[test]
    fn what_belongs_to_another_application_is_refused() {
        let mut job = Job::default();
        set_option(&mut job, "warehouses", "10").expect("it is TPC-C now");
        let error = set_option(&mut job, "transactions", "10").expect_err("that is Postmark's").to_string();
        assert!(error.contains("app=postmark"), "{error}");
        set_option(&mut job, "commit", "never").expect_err("no such way");
        set_option(&mut job, "app", "tpcb").expect_err("no such application");
    }
}
