//! What does somebody do who has fio's command lines and no Rust? Install, look at the pages, type what was typed before.

use std::fs;
use std::path::Path;
use std::process::Command;

use iostack_testkit::{or_skip, tool};

use super::said;

/// Images as they are published for cloud disks, for database servers and for one's own laptop; sizes and times are
/// smaller here.
const PUBLISHED: [&str; 3] = [
    "fio --name=write_iops --directory=. --size=4M --time_based --runtime=1s --ramp_time=1s --ioengine=libaio --direct=1 \
     --verify=0 --bs=4K --iodepth=256 --rw=randwrite --group_reporting=1 --iodepth_batch_submit=256 \
     --iodepth_batch_complete_max=256",
    "fio --filename=database --size=4M --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=64 --runtime=1 --numjobs=2 \
     --time_based --group_reporting --name=iops-test-job --eta-newline=1",
    "fio --name=random-write --ioengine=posixaio --rw=randwrite --bs=4k --size=4m --numjobs=1 --iodepth=1 --runtime=1 \
     --time_based --end_fsync=1",
];

/// Installs the package of this processor below `folder` and uses it from a shell that knows nothing else of ours.
pub(super) fn at_work(test: &str, deb: &Path, folder: &Path) {
    let root = folder.join("installed");
    let work = root.join("home");
    for place in [&root.join("var/lib/dpkg/info"), &root.join("var/lib/dpkg/updates"), &work] {
        fs::create_dir_all(place).expect("ours");
    }
    fs::write(root.join("var/lib/dpkg/status"), "").expect("ours");
    let mut dpkg = Command::new("unshare");
    dpkg.args(["--user", "--map-root-user", "dpkg", "--root"]).arg(&root).arg("--install").arg(deb);
    said(&mut dpkg);
    let listed = said(Command::new("dpkg-query").arg("--admindir").arg(root.join("var/lib/dpkg")).arg("-W"));
    assert!(listed.starts_with("iostack\t"), "{listed}");
    let shell = |line: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-O", "expand_aliases", "-c"]).arg(format!("alias fio='iostack fio'\n{line}"));
        bash.env_clear().env("PATH", format!("{}:/usr/bin:/bin", root.join("usr/bin").display()));
        said(bash.env("HOME", &work).current_dir(&work))
    };
    assert!(shell("command -v iostack").starts_with(&root.display().to_string()));
    for line in PUBLISHED {
        let told = shell(line);
        assert!(told.contains(" IOPS=") && told.contains("err= 0"), "{line}: {told}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&shell(&format!("{} --output-format=json", PUBLISHED[1]))).expect("JSON");
    let job = &json["jobs"][0];
    assert!(
        job["read"]["total_ios"].as_u64() > Some(0) && job["write"]["total_ios"].as_u64() > Some(0),
        "{job}"
    );
    let share = root.join("usr/share");
    for completions in [
        "bash-completion/completions/iostack",
        "zsh/vendor-completions/_iostack",
        "fish/vendor_completions.d/iostack.fish",
    ] {
        assert!(share.join(completions).is_file(), "{completions}");
    }
    let page = share.join("man/man1/iostack-run.1.gz").display().to_string();
    if let Some(text) = or_skip(test, tool("man", &["--no-hyphenation", "--local-file", &page])) {
        assert!(text.contains("iostack-run") && text.contains("--queue-depth"), "{text}");
    }
}
