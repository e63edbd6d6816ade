//! `muffle bench`: examples per second and memory, private and plain, on this machine.

use crate::CommandResult;
use clap::Args;
use muffle::bench::{
    Measurement, MethodMeasurement, Mode, Settings, WORKLOADS, Workload, measure, measure_methods, workload,
};
use std::process::Command;

/// Measure training steps on random data: examples per second, memory, and the share of this machine's matrix speed.
///
/// A private step is the whole of DP-SGD: forward, backward, per-example norms, flat clip, sum, Gaussian noise from a
/// cryptographic generator, update. A plain step has neither norms, clip nor noise. --methods measures steps of published
/// methods in turn with those of DP-SGD, as a run takes them: sampling, release, optimizer.
#[derive(Args)]
#[command(after_help = "Workloads:
  w1  cnn-small, batch 256   small CNN of the DP-SGD tutorials, 28x28
  w2  cnn-5x5, batch 256     two 5x5 convolutions and a dense layer of 1024, 28x28
  w3  lstm-rows, batch 128   LSTM of 128 units over 28 rows of 28 pixels
  w4  resnet18, batch 32     ResNet-18 with GroupNorm, 32x32x3
  w5  text-transformer, batch 64   two transformer blocks of 128 features over 64 tokens
  w6  text-gru, batch 64           GRU of 128 units over 64 tokens of 128 features
  w7  text-cnn, batch 64           filters over 3, 4 and 5 of 64 tokens of 128 features
  w8  critic of digits, batch 512  two 5x5 convolutions and a dense layer, on digits and as many that a generator makes

Examples:
  muffle bench                          all workloads, private and plain, as a table
  muffle bench --workload w2 --json     one line of JSON
  muffle bench --workload w2 --batch 4096 --threads 1
  muffle bench --workload w1 --methods auto-s,quantile-clip")]
pub struct Arguments {
    /// Workload to measure: w1 to w8; all of them, each in a process of its own, if absent
    #[arg(long)]
    workload: Option<String>,
    /// Measure the plain step; without a workload, only the plain steps
    #[arg(long)]
    plain: bool,
    /// Measure steps of these methods (see `muffle methods`) beside those of dp-sgd
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "workload", conflicts_with_all = ["plain", "micro_batch"])]
    methods: Vec<String>,
    /// Examples in a step
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Threads (default: the machine's cores)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Most examples a thread handles at once (default: chosen by memory)
    #[arg(long, value_name = "N")]
    micro_batch: Option<usize>,
    /// Seconds to measure each workload for
    #[arg(long, value_name = "S", default_value_t = 8.0)]
    seconds: f64,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> CommandResult {
    let Some(name) = &arguments.workload else {
        return all(arguments);
    };
    if !arguments.methods.is_empty() {
        return methods(arguments, workload(name)?);
    }
    let settings = Settings {
        mode: if arguments.plain { Mode::Plain } else { Mode::Private },
        batch: arguments.batch,
        threads: arguments.threads,
        micro_batch: arguments.micro_batch,
        seconds: arguments.seconds,
    };
    let measurement = measure(workload(name)?, &settings)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&measurement)?);
    } else {
        println!("{HEADER}");
        println!("{}", row(&measurement));
    }
    Ok(())
}

/// Measures steps of methods.
fn methods(arguments: &Arguments, workload: &Workload) -> CommandResult {
    let Arguments { batch, threads, seconds, .. } = *arguments;
    let measurements = measure_methods(workload, &arguments.methods, batch, threads, seconds)?;
    if !arguments.json {
        println!("{:<18} {:<14} {:>8} {:>10} {:>10}", "method", "form", "steps", "step ms", "x dp-sgd");
    }
    for measurement in &measurements {
        if arguments.json {
            println!("{}", serde_json::to_string(measurement)?);
            continue;
        }
        let MethodMeasurement { method, mode, steps, step_ms, ratio, .. } = measurement;
        println!("{method:<18} {:<14} {steps:>8} {step_ms:>10.3} {ratio:>10.3}", mode.name());
    }
    Ok(())
}

/// Measures every workload in a process of its own, because peak memory belongs to a process.
fn all(arguments: &Arguments) -> CommandResult {
    let modes: &[Mode] = if arguments.plain { &[Mode::Plain] } else { &[Mode::Private, Mode::Plain] };
    if !arguments.json {
        println!("{HEADER}");
    }
    for workload in &WORKLOADS {
        let mut private_ms = None;
        for &mode in modes {
            let measurement = in_own_process(arguments, workload.name, mode)?;
            if arguments.json {
                println!("{}", serde_json::to_string(&measurement)?);
                continue;
            }
            println!("{}", row(&measurement));
            match (mode, private_ms) {
                (Mode::Private, _) => private_ms = Some(measurement.step_ms),
                (Mode::Plain, Some(private)) => {
                    println!("{:>52} {:.2}x the plain step", "private takes", private / measurement.step_ms);
                }
                (Mode::Plain, None) => {}
            }
        }
    }
    Ok(())
}

fn in_own_process(
    arguments: &Arguments,
    workload: &str,
    mode: Mode,
) -> Result<Measurement, Box<dyn std::error::Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--json", "--workload", workload]);
    command.args(["--seconds", &arguments.seconds.to_string()]);
    if mode == Mode::Plain {
        command.arg("--plain");
    }
    let numbers = [
        ("--batch", arguments.batch),
        ("--threads", arguments.threads),
        ("--micro-batch", arguments.micro_batch),
    ];
    for (flag, number) in numbers {
        if let Some(number) = number {
            command.args([flag, &number.to_string()]);
        }
    }
    let output = command.output()?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(message.trim().trim_start_matches("error: ").to_string().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

const HEADER: &str =
    "workload  mode     batch  threads   examples/s    step ms  peak MB  GFLOPS  matrix  ratio";

fn row(measurement: &Measurement) -> String {
    let mode = match measurement.mode {
        Mode::Private => "private",
        Mode::Plain => "plain",
    };
    let memory = measurement.peak_rss_mb.map_or("?".to_string(), |megabytes| format!("{megabytes:.0}"));
    format!(
        "{:<9} {:<8} {:>5} {:>8} {:>12.1} {:>10.2} {:>8} {:>7.1} {:>7.1} {:>6.2}",
        measurement.workload,
        mode,
        measurement.batch,
        measurement.threads,
        measurement.samples_per_s,
        measurement.step_ms,
        memory,
        measurement.gflops,
        measurement.matrix_gflops,
        measurement.ratio
    )
}
