//! Loads that execute a known number of instructions per I/O. They loop until they are killed.
#![expect(unsafe_code, reason = "only assembly has a known number of instructions")]

use std::arch::asm;
use std::fs::File;
use std::os::fd::AsRawFd;

use iostack_ring::ControlBlock;

/// Instructions per turn of [`reads`]: two for the call, 93 of nothing, two for the loop.
pub(crate) const READ_TURN: u64 = 97;

/// Turns for ever, from `2:` on: `pread64` (17) of 4 KiB at offset 0, and other lines. The file is in rdi and r12.
macro_rules! turns {
    ($file:expr, $($line:literal),+ $(,)?) => {{
        let mut buffer = vec![0_u8; 4096];
        // SAFETY: pread64 writes at most 4096 bytes at `buffer`, which lives as long as the loop; rax, rcx and r11 are
        // what the kernel changes. Other lines write what they set before, and at `buffer` no more than 4096 bytes.
        unsafe {
            asm!(
                "2:",
                $($line,)+
                in("rdi") $file.as_raw_fd(), in("r12") $file.as_raw_fd(), in("rsi") buffer.as_mut_ptr(),
                in("rdx") 4096, in("r10") 0, in("r8") 0,
                options(noreturn)
            )
        }
    }};
}

/// Reads 4 KiB at offset 0 for ever, one call per turn.
pub(crate) fn reads(file: &File) -> ! {
    turns!(file, "mov eax, 17", "syscall", ".rept 93", "nop", ".endr", "inc r8", "jmp 2b")
}

/// Turns of [`plans`] from one plan to the next.
pub(crate) const PLAN_EVERY: u64 = 256;
/// Instructions of so many turns with their plan: 75 a turn, and 5,120.
pub(crate) const PLAN_TURNS: u64 = PLAN_EVERY * 75 + 5_120;

/// Reads as [`reads`] does, with a long pause of counting down after each 256 reads, as a generator plans in batches.
pub(crate) fn plans(file: &File) -> ! {
    turns!(
        file,
        "mov eax, 17",
        "syscall",
        ".rept 70",
        "nop",
        ".endr",
        "inc r8",
        "test r8b, r8b",
        "jnz 2b",
        "mov ecx, 2559",
        "3:",
        "dec ecx",
        "jnz 3b",
        "jmp 2b",
    )
}

/// Instructions per turn of [`reads_and_clears`], the string instruction counting as one.
pub(crate) const CLEAR_TURN: u64 = 9;
/// Iterations of the string instruction in each of these turns.
pub(crate) const CLEAR_BYTES: u64 = 64;

/// Reads as [`reads`] does, and clears 64 bytes with one repeated string instruction per turn.
pub(crate) fn reads_and_clears(file: &File) -> ! {
    // `rep stosb` writes upwards because the direction flag is clear.
    turns!(
        file,
        "mov edi, r12d",
        "mov eax, 17",
        "syscall",
        "mov rdi, rsi",
        "mov ecx, 64",
        "rep stosb",
        "xor eax, eax",
        "inc r8",
        "jmp 2b",
    )
}

/// I/Os per call of [`submits`].
pub(crate) const BATCH: u64 = 16;
/// Instructions per turn of [`submits`].
pub(crate) const SUBMIT_TURN: u64 = 160;

/// Submits 16 reads of 512 bytes with `io_submit`, waits for all with `io_getevents`, for ever.
pub(crate) fn submits(file: &File) -> ! {
    let mut buffer = vec![0_u8; BATCH as usize * 512];
    let mut events = vec![[0_u64; 4]; BATCH as usize];
    let control = |block: &mut [u8]| {
        ControlBlock::new(0, false, file.as_raw_fd(), block.as_mut_ptr(), block.len() as u32, 0)
    };
    let controls: Vec<ControlBlock> = buffer.chunks_exact_mut(512).map(control).collect();
    let pointers: Vec<*const ControlBlock> = controls.iter().map(std::ptr::from_ref).collect();
    let mut context: u64 = 0;
    // SAFETY: io_setup writes one word at `context`.
    let answer = unsafe { libc::syscall(libc::SYS_io_setup, BATCH, &raw mut context) };
    assert_eq!(answer, 0, "io_setup: {}", std::io::Error::last_os_error());
    // SAFETY: controls, buffers and events live as long as the loop, and 16 of each are passed; rax, rcx and r11 are
    // what the kernel changes.
    unsafe {
        asm!(
            "2:",
            "mov eax, 209",
            "mov esi, 16",
            "mov rdx, r12",
            "syscall",
            "mov eax, 208",
            "mov edx, 16",
            "syscall",
            ".rept 151",
            "nop",
            ".endr",
            "inc r9",
            "jmp 2b",
            in("rdi") context, in("r12") pointers.as_ptr(), in("r10") events.as_mut_ptr(), in("r8") 0,
            in("r9") 0,
            options(noreturn)
        )
    }
}

/// Makes no call and no I/O.
pub(crate) fn spins() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

/// Lets an interval timer send SIGALRM, with an empty handler, a thousand times a second.
pub(crate) fn alarm_often() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing, so it may run at any time.
    unsafe { libc::signal(libc::SIGALRM, handler) };
    let every = libc::timeval { tv_sec: 0, tv_usec: 1000 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: `timer` is a live local.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}
