//! How do programs come to the drive? By the best route that this machine has.
//!
//! | route | programs see | needs |
//! | --- | --- | --- |
//! | fuse and loop | a block device | /dev/fuse, root |
//! | fuse | a file | /dev/fuse, and fusermount3 without root |
//! | nbd | a network disk | nothing |
//!
//! (`ublk` would be quicker than both. No kernel that we can try it on has it, so it is not here.)

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use iostack_model::answers::{Served, ServedCut};
use iostack_model::{Bins, Bytes, Machine, Nanos, SCHEMA};
use iostack_sim::sheet::Sheet;

use crate::fuse::{self, Fuse};
use crate::layers::Stack;
use crate::nbd::{Nbd, Place};
use crate::server::PROBE;
use crate::{Disk, Drive, Server, Store};

/// The power is gone for so long at least, so that programs see it.
const DARK: Duration = Duration::from_millis(100);

/// Route of programs to the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// The best there is.
    #[default]
    Best,
    /// A file, and a block device as root.
    Fuse,
    /// A network disk.
    Nbd,
}

/// Drive to serve, and how.
pub struct Wanted {
    /// Layers and drive as typed.
    pub typed: String,
    /// Sheet of the drive.
    pub sheet: Sheet,
    /// The layers over it.
    pub stack: Stack,
    /// Decides whatever chance does in the drive.
    pub seed: u64,
    /// File for the data; in memory when absent.
    pub store: Option<PathBuf>,
    /// The store may be any file.
    pub destroy_data: bool,
    /// Power will be cut.
    pub volatile: bool,
    /// Route that programs take.
    pub route: Route,
    /// Directory of the file.
    pub mount: Option<PathBuf>,
    /// Place of the network disk.
    pub listen: Option<Place>,
    /// Ends it before it is served.
    pub stop: &'static AtomicBool,
}

/// A drive that is served.
pub struct Door {
    server: Server,
    disk: Disk,
    fuse: Option<Fuse>,
    nbd: Option<Nbd>,
    /// Path or URL at which programs find it.
    pub path: String,
    started: Instant,
    dark_since: Option<Instant>,
    served: Served,
}

impl Door {
    /// Serves it. `tell` is told of what a user should know meanwhile.
    pub fn open(
        mut wanted: Wanted,
        machine: Machine,
        tell: impl Fn(&str) + Send + Sync + Clone + 'static,
    ) -> anyhow::Result<Door> {
        for place in fuse::sweep() {
            tell(&format!("a mount that a killed server left on {} was taken away", place.display()));
        }
        let mut drive = Drive::open(&wanted.sheet, wanted.seed)?;
        let capacity = drive.shape().capacity;
        let mut notes = Vec::new();
        let mut store = match &wanted.store {
            None => Store::memory(capacity)?,
            Some(path) => Store::file(path, capacity, wanted.destroy_data)?,
        };
        if wanted.volatile {
            store = store.volatile();
        }
        let held = store.held().unwrap_or_default();
        if !held.is_empty() {
            let bytes = Bytes(held.iter().map(|(_, length)| length).sum());
            let is_filled = drive.fill(&held, || wanted.stop.load(Ordering::Relaxed));
            ensure!(
                is_filled,
                "stopped while the drive was given the {bytes} that the store holds; nothing was served"
            );
            let note = format!("{bytes} that the store held were written to the drive before it was served.");
            notes.push(note);
        }
        let block = drive.shape().block.0 as u32;
        let layers = std::mem::take(&mut wanted.stack.layers);
        let server = Server::start(drive, store, layers).context("cannot start a thread")?;
        let disk = server.disk();
        let mut door = Door {
            disk: disk.clone(),
            server,
            fuse: None,
            nbd: None,
            path: String::new(),
            started: Instant::now(),
            dark_since: None,
            served: untouched(&wanted.typed, capacity, wanted.seed, machine),
        };
        door.served.notes = notes;
        door.choose(&wanted, block, tell)?;
        door.started = Instant::now();
        Ok(door)
    }

    fn choose(
        &mut self,
        way: &Wanted,
        block: u32,
        tell: impl Fn(&str) + Send + Sync + Clone + 'static,
    ) -> anyhow::Result<()> {
        let nbd = way.route == Route::Nbd || way.listen.is_some() && way.route == Route::Best;
        if !nbd {
            match self.by_fuse(way, block, &tell) {
                Ok(()) => return Ok(()),
                Err(error) if way.route == Route::Fuse || way.mount.is_some() => return Err(error),
                Err(error) => {
                    self.served.notes.push(format!("No FUSE here ({error:#}), so it is a network disk."));
                }
            }
        }
        self.by_nbd(way, tell)
    }

    fn by_fuse(&mut self, way: &Wanted, block: u32, tell: &dyn Fn(&str)) -> anyhow::Result<()> {
        if let Some(why) = fuse::missing() {
            bail!("this machine has no FUSE ({why}); `--as nbd` needs none");
        }
        let directory = match &way.mount {
            Some(directory) => directory.clone(),
            None => own_place("")?,
        };
        let fuse = self.fuse.insert(Fuse::start(self.disk.clone(), &directory)?);
        (self.served.route, self.path) = ("fuse".to_owned(), fuse.file.display().to_string());
        match fuse.block_device(block) {
            Ok(device) => {
                (self.served.route, self.path) = ("fuse and loop".to_owned(), device.display().to_string());
            }
            Err(error) => {
                self.served.notes.push(format!("It is a file and no block device: {error:#}."));
            }
        }
        self.served.place.clone_from(&self.path);
        // The time that the route takes by itself: what a read takes beyond the time after which it is answered.
        self.disk.probe(true);
        let took = fuse.probe();
        self.disk.probe(false);
        match took {
            Ok(took) => {
                let lead = Nanos(took.0.saturating_sub(PROBE.0));
                self.disk.set_lead(lead.0);
                self.served.lead = lead;
            }
            Err(error) => tell(&format!("the route's own time could not be measured: {error}")),
        }
        Ok(())
    }

    fn by_nbd(&mut self, way: &Wanted, tell: impl Fn(&str) + Send + Sync + 'static) -> anyhow::Result<()> {
        let place = match &way.listen {
            Some(place) => place.clone(),
            None => Place::Unix(own_place(".sock")?),
        };
        let nbd = Nbd::start(self.disk.clone(), &way.stack.device, &place, tell)?;
        self.path.clone_from(&nbd.url);
        (self.served.route, self.served.place) = ("nbd".to_owned(), nbd.url.clone());
        self.nbd = Some(nbd);
        Ok(())
    }

    /// A file system is mounted on it, which would lose what it has not written yet.
    pub fn is_mounted(&self) -> bool {
        self.fuse.as_ref().is_some_and(Fuse::is_mounted)
    }

    /// Answer so far.
    pub fn so_far(&self) -> Served {
        let mut served = self.served.clone();
        served.elapsed = Nanos(self.started.elapsed().as_nanos() as u64);
        let Some(seen) = self.disk.look() else { return served };
        seen.put_into(&mut served);
        served.notes.extend(self.disk.store().full().map(str::to_owned));
        served
    }

    /// Cuts the power: what was not flushed is kept or lost, as chance has it, and everything fails until it comes back.
    pub fn cut(&mut self) -> io::Result<()> {
        let at = Nanos(self.started.elapsed().as_nanos() as u64);
        let seed = self.served.seed.wrapping_add(self.served.cuts.len() as u64);
        let cut = self.disk.cut(seed)?;
        self.served.cuts.push(ServedCut { at, kept: cut.kept, lost: cut.lost });
        if let Some(nbd) = &self.nbd {
            nbd.drop_clients();
        }
        self.dark_since = Some(Instant::now());
        Ok(())
    }

    /// Brings the power back, a moment after a cut and not before a file system that is mounted has gone: it would go on with
    /// what it remembers of the disk.
    pub fn power_on(&mut self) {
        let over = self.dark_since.is_some_and(|since| since.elapsed() >= DARK);
        if !over || self.is_mounted() {
            return;
        }
        if let Some(fuse) = &self.fuse {
            // What was not written fails, as it must.
            let _nothing_is_written = fuse.forget();
        }
        self.dark_since = None;
        self.disk.power_on();
    }

    /// Ends it: routes first, then the drive. What a layer could not write is an error.
    pub fn end(mut self) -> (Served, Result<(), String>) {
        let served = self.so_far();
        self.fuse = None;
        self.nbd = None;
        (served, self.server.end())
    }
}

/// Answer of a drive that nothing was asked of yet.
pub fn untouched(typed: &str, capacity: Bytes, seed: u64, machine: Machine) -> Served {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Served {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: now.as_millis() as u64,
        elapsed: Nanos(0),
        machine,
        drive: typed.to_owned(),
        route: String::new(),
        place: String::new(),
        capacity,
        seed,
        lead: Nanos(0),
        served: Vec::new(),
        late: Bins::default(),
        failed: 0,
        lost: 0,
        cuts: Vec::new(),
        crash: None,
        flash: Vec::new(),
        resources: Vec::new(),
        notes: Vec::new(),
    }
}

/// A name of this process's own in a directory of this user's own.
fn own_place(ending: &str) -> anyhow::Result<PathBuf> {
    let user = iostack_host::effective_user();
    let directory = match (user, env::var_os("XDG_RUNTIME_DIR")) {
        (0, _) => PathBuf::from("/run/iostack"),
        (_, Some(directory)) => PathBuf::from(directory).join("iostack"),
        (user, None) => env::temp_dir().join(format!("iostack-{user}")),
    };
    let refused = || format!("cannot mount on `{}`", directory.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).with_context(refused)?;
    let about = fs::symlink_metadata(&directory).with_context(refused)?;
    ensure!(
        about.is_dir() && about.uid() == user,
        "{}: it is another user's; name a place with --mount or --listen",
        refused()
    );
    Ok(directory.join(format!("disk-{}{ending}", std::process::id())))
}
