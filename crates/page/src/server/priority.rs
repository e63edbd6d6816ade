//! Pages come after runs.

/// How far a server stands back behind other processes of the same user, of at most 19.
#[cfg(unix)]
const STANDS_BACK: std::ffi::c_int = 15;

/// Lets every other process go first: whoever watches can wait for a moment, and a run should not notice.
pub fn stand_back() {
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn nice(increment: std::ffi::c_int) -> std::ffi::c_int;
        }
        // SAFETY: `nice` of POSIX takes a number and touches no memory of this process. Should it fail, nothing has changed.
        unsafe { nice(STANDS_BACK) };
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The field behind the name in parentheses, as proc(5) numbers them: 19 is the nice value.
    #[test]
    fn a_thread_that_stood_back_is_behind_others() {
        let own = || {
            let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            text.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap().parse::<i64>().unwrap()
        };
        let (before, after) = std::thread::spawn(move || {
            let before = own();
            stand_back();
            (before, own())
        })
        .join()
        .unwrap();
        assert_eq!(after, (before + i64::from(STANDS_BACK)).min(19));
    }
}
