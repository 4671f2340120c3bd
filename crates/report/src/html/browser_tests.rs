//! Do the scripts of a page do what they should, in a browser? Skips aloud where there is none.

use std::process::{Command, Stdio};

use crate::fixture;

fn browser() -> Option<&'static str> {
    let works = |name: &&&str| {
        let probe = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].iter().find(works).copied()
}

/// The page as it is after its scripts ran; nothing where there is no browser.
fn shown(test: &str, page: &str) -> Option<String> {
    let Some(browser) = browser() else {
        println!("SKIPPED {test}: chromium is not installed");
        return None;
    };
    let room = std::env::temp_dir().join(format!("iostack-browser-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&room).expect("a folder of our own");
    let file = room.join("page.html");
    std::fs::write(&file, page).expect("a file of our own");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--disable-component-update", "--disable-sync", "--window-size=1280,800", "--dump-dom"])
        .arg(format!("--user-data-dir={}", room.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .expect("it has just started");
    std::fs::remove_dir_all(&room).expect("our own folder");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A page with everything that has a script.
fn page() -> String {
    crate::check(&fixture::check()).html()
}

#[test]
fn the_policy_of_a_page_lets_its_own_script_run() {
    let Some(dom) = shown("the_policy_of_a_page_lets_its_own_script_run", &page()) else { return };
    assert!(dom.contains("<div class=\"tools\">"), "no figure got its tools");
    assert!(dom.contains("href=\"blob:"), "the data cannot be kept");
}

/// Title of a page after these checks ran in it, without its policy; nothing where there is no browser.
fn used(test: &str, page: &str, checks: &str) -> Option<String> {
    let (head, rest) = page.split_once("<meta http-equiv=").expect("it has a policy");
    let rest = rest.split_once("/>").expect("the policy ends").1;
    let (body, end) = rest.rsplit_once("<script>").expect("it has a script");
    let end = end.replace("</body>", &format!("<script>{checks}</script>\n</body>"));
    let dom = shown(test, &format!("{head}{body}<script>{end}"))?;
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    Some(title.unwrap_or_default().to_owned())
}

#[test]
fn figures_and_calls_answer_the_pointer_and_the_keys() {
    let checks = include_str!("browser_tests.js");
    let test = "figures_and_calls_answer_the_pointer_and_the_keys";
    let Some(title) = used(test, &page(), checks) else { return };
    assert!(title.starts_with("all ") && title.ends_with(" hold"), "{title}");
}

#[test]
fn each_cell_of_a_heat_map_tells_its_count() {
    let page = crate::run(&fixture::simulated_file()).html();
    let checks = include_str!("heat_tests.js");
    let Some(title) = used("each_cell_of_a_heat_map_tells_its_count", &page, checks) else { return };
    assert!(title.starts_with("all ") && title.ends_with(" hold"), "{title}");
}
