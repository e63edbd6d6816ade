//! A parser that is careless is found out.

use muffle_fuzz::mutate::bytes;
use muffle_fuzz::panics;
use muffle_fuzz::round::Trial;
use muffle_fuzz::target::{Memory, Target};

#[test]
fn mistakes_are_noticed() {
    static CARELESS: Target = Target {
        name: "careless",
        door: "",
        seeds: || vec![b"12".to_vec()],
        mutate: bytes::mutate,
        parse: |input| match input {
            [b'1', ..] => Ok(()),
            [b'2', ..] => Err("no".to_string()),
            [] => panic!("nothing there"),
            [first, ..] => {
                drop(std::hint::black_box(vec![*first; 1 << 22]));
                Ok(())
            }
        },
        memory: Memory { fixed: 1 << 20, each: 0 },
    };
    let mistake = |input: &[u8]| panics::counted(|| Trial::new(&CARELESS, input)).mistake(&CARELESS, input);
    assert_eq!(mistake(b"1"), None);
    assert_eq!(mistake(b"2"), None);
    assert!(mistake(b"").unwrap().contains("nothing there"));
    assert!(mistake(b"x").unwrap().contains("1048576 are allowed"));
}
