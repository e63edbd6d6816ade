//! `muffle bench`, as a user calls it.

use std::process::{Command, Output};

fn muffle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muffle")).args(arguments).output().expect("the binary runs")
}

fn refused(arguments: &[&str], expected: &[&str]) {
    let output = muffle(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    for expected in expected {
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn one_workload_gives_one_line_of_json() {
    for (mode, flags) in [("private", &[][..]), ("plain", &["--plain"][..])] {
        let fixed =
            ["bench", "--workload", "w1", "--batch", "8", "--threads", "1", "--seconds", "0.05", "--json"];
        let output = muffle(&[&fixed, flags].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["workload"], "w1");
        assert_eq!(line["mode"], mode);
        assert_eq!((&line["batch"], &line["threads"]), (&8.into(), &1.into()));
        assert_eq!(line["parameters"], 26_010);
        for key in ["samples_per_s", "samples_per_s_mean", "step_ms", "gflops", "matrix_gflops", "ratio"] {
            assert!(line[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {}", line[key]);
        }
        let (rate, step) = (line["samples_per_s"].as_f64().unwrap(), line["step_ms"].as_f64().unwrap());
        assert!((rate * step / 1e3 / 8.0 - 1.0).abs() < 1e-9);
        let share = line["gflops"].as_f64().unwrap() / line["matrix_gflops"].as_f64().unwrap();
        assert!((line["ratio"].as_f64().unwrap() / share - 1.0).abs() < 1e-9);
        if cfg!(target_os = "linux") {
            assert!(line["peak_rss_mb"].as_f64().is_some_and(|value| value > 1.0));
        }
    }
}

#[test]
fn methods_are_measured_beside_dp_sgd() {
    let fixed =
        ["bench", "--workload", "w1", "--batch", "32", "--threads", "1", "--seconds", "0.01", "--json"];
    let output = muffle(&[&fixed[..], &["--methods", "icgc,dp-sgd,auto-s"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let forms: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["method"], line["mode"])).collect();
    let expected = ["dp-sgd sound", "icgc sound", "icgc as-published", "auto-s sound"];
    assert_eq!(forms.join("; ").replace('"', ""), expected.join("; "));
    assert_eq!(lines[0]["ratio"], 1.0);
    for line in &lines {
        let share = line["step_ms"].as_f64().unwrap() / lines[0]["step_ms"].as_f64().unwrap();
        assert!((line["ratio"].as_f64().unwrap() / share - 1.0).abs() < 1e-9, "{line}");
    }
}

#[test]
fn without_json_it_prints_a_table() {
    let output =
        muffle(&["bench", "--workload", "w3", "--batch", "2", "--threads", "1", "--seconds", "0.01"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("workload") && text.contains("w3") && text.contains("private"), "{text}");
}

#[test]
fn bad_input_is_refused_with_the_remedy() {
    refused(&["bench", "--workload", "w9"], &["w9", "w1, w2, w3, w4, w5, w6, w7"]);
    refused(&["bench", "--workload", "w1", "--batch", "0"], &["batch", "at least 1"]);
    refused(&["bench", "--workload", "w1", "--threads", "0"], &["threads", "1 or more"]);
    refused(&["bench", "--workload", "w1", "--threads", "4096"], &["threads", "4096", "cores"]);
    refused(&["bench", "--workload", "w1", "--micro-batch", "0"], &["micro-batch"]);
    refused(&["bench", "--workload", "w1", "--methods", "dp-sdg"], &["did you mean `dp-sgd`?"]);
    refused(&["bench", "--methods", "dp-sgd"], &["--workload"]);
    refused(&["bench", "--workload", "w1", "--seconds", "0"], &["seconds"]);
    refused(&["bench", "--workload", "w1", "--seconds", "NaN"], &["seconds"]);
    refused(&["bench", "--workload", "w1", "--batch", "many"], &["--batch"]);
    refused(&["bench", "--threads", "4096", "--seconds", "0.01"], &["threads", "cores"]);
    refused(&["bench", "--wrokload", "w1"], &["--workload"]);
    refused(&[], &["Usage"]);
}
