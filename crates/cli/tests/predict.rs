//! New rows are scored: from files, images, arrays and pipes, every one of them, in order.

mod common;

use common::{Project, last_json};
use std::fs::{self, OpenOptions};
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::process::{Output, Stdio};

/// A project with a trained model.
fn trained() -> Project {
    let project = Project::new();
    let output = project.muffle(&[
        "train",
        "small.toml",
        "--quiet",
        "--seed",
        "1",
        "--output",
        "run",
        "--set",
        "steps=60",
    ]);
    assert!(output.status.success(), "{output:?}");
    project
}

/// Rows without a label, with names, more than one block of them.
fn rows(count: usize) -> String {
    let row = |index: usize| {
        let value = |step: usize| (index * step % 1000) as f64 / 1000.0;
        format!(
            "{:.4},\"n,{index}\",{:.4},more text that nobody reads,{:.4}\n",
            value(7),
            value(13),
            value(29)
        )
    };
    "c,id,a,note,b\n".to_string() + &(0..count).map(row).collect::<String>()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output, parts: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

/// Standard input to standard output.
fn piped(project: &Project, input: &str, more: &[&str]) -> Output {
    let mut command = project.command(&[&["predict", "run", "--data", "-"][..], more].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_string());
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    drop(writer.join().unwrap());
    output
}

#[test]
fn every_row_is_answered_in_order_from_a_file_or_a_pipe() {
    let project = trained();
    let table = rows(60_000);
    fs::write(project.path("new.csv"), &table).unwrap();
    let whole = text(&project.muffle(&["predict", "run", "--data", "new.csv"]));
    let mut lines = whole.lines();
    assert_eq!(lines.next(), Some("id,class,probability_no,probability_yes"));
    for (index, line) in lines.clone().enumerate() {
        assert!(line.starts_with(&format!("\"n,{index}\",")), "{line}");
    }
    assert_eq!(lines.count(), 60_000);
    assert_eq!(text(&piped(&project, &table, &["--threads", "1"])), whole);
    // In several pieces it is the same.
    let (header, rest) = table.split_once('\n').unwrap();
    let middle = rest[..rest.len() / 3].rfind('\n').unwrap() + 1;
    let parts = [&rest[..middle], &rest[middle..]]
        .map(|part| text(&piped(&project, &format!("{header}\n{part}"), &[])));
    assert_eq!(format!("{}{}", parts[0], parts[1].split_once('\n').unwrap().1), whole);
    // Another column may name the rows, or their number.
    let by_note = text(&piped(&project, &rows(2), &["--id", "note"]));
    assert!(
        by_note.starts_with("note,class") && by_note.contains("\nmore text that nobody reads,"),
        "{by_note}"
    );
    let by_number = text(&piped(&project, "a,b,c\n0,0,0\n\n1,1,1\n", &[]));
    let classes: Vec<&str> =
        by_number.lines().skip(1).map(|line| line.rsplit_once(",0.").unwrap().0).collect();
    assert!(classes[0].starts_with("0,no") && classes[1].starts_with("1,yes"), "{by_number}");
}

#[test]
fn numbers_may_have_a_comma() {
    let project = trained();
    let points = text(&piped(&project, "a;b;c\n0.25;0.5;0.75\n", &[]));
    assert_eq!(text(&piped(&project, "a;b;c\n0,25;0,5;0,75\n", &["--decimal-comma"])), points);
    refused(
        &piped(&project, "a;b;c\n0.25;0,5;0,75\n", &["--decimal-comma"]),
        &["line 2", "column `a`", "point"],
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let project = trained();
    fs::write(project.path("new.csv"), rows(60_000)).unwrap();
    let mut command = project.command(&["predict", "run", "--data", "new.csv"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.code() == Some(141) && output.stderr.is_empty(), "{output:?}");
}

#[cfg(unix)]
#[test]
fn what_is_there_is_written_into_and_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let project = trained();
    fs::write(project.path("new.csv"), rows(50)).unwrap();
    let predict = |output: &str| project.muffle(&["predict", "run", "--data", "new.csv", "--output", output]);
    let expected = text(&project.muffle(&["predict", "run", "--data", "new.csv"]));
    assert_eq!(text(&predict("/dev/stdout")), expected);
    assert_eq!(text(&predict("-")), expected);
    assert_eq!(text(&predict("/dev/null")), "");

    let made = std::process::Command::new("mkfifo").arg(project.path("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = project.path("pipe");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    assert_eq!(text(&predict("pipe")), "");
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::symlink_metadata(project.path("pipe")).unwrap().file_type().is_fifo());

    fs::create_dir(project.path("far")).unwrap();
    fs::write(project.path("far/there.csv"), "old").unwrap();
    for (link, target) in [("to-old", "far/there.csv"), ("to-new", "far/to-be.csv")] {
        symlink(target, project.path(link)).unwrap();
        assert_eq!(text(&predict(link)), "");
        assert!(fs::symlink_metadata(project.path(link)).unwrap().file_type().is_symlink());
        assert_eq!(fs::read_to_string(project.path(target)).unwrap(), expected);
    }
    assert_eq!(fs::read_dir(project.path("far")).unwrap().count(), 2, "nothing temporary is left");
    refused(&predict("far"), &["far", "folder"]);

    // What stands for an open file of the process is written behind what is there, and a link to it may lead to a pipe.
    symlink("/dev/stdout", project.path("to-stdout")).unwrap();
    assert_eq!(text(&predict("to-stdout")), expected);
    fs::write(project.path("whole.csv"), "head\n").unwrap();
    let whole = OpenOptions::new().append(true).open(project.path("whole.csv")).unwrap();
    let mut command = project.command(&["predict", "run", "--data", "new.csv", "--output", "/dev/fd/1"]);
    assert!(command.stdout(whole).status().unwrap().success());
    assert_eq!(fs::read_to_string(project.path("whole.csv")).unwrap(), format!("head\n{expected}"));
}

/// A folder that happens to lie among the devices holds files like any other; and who may read scores does not change.
#[cfg(unix)]
#[test]
fn files_are_replaced_with_their_rights() {
    use std::os::unix::fs::PermissionsExt;
    let project = trained();
    fs::write(project.path("new.csv"), rows(50)).unwrap();
    let predict = |output: &str| project.muffle(&["predict", "run", "--data", "new.csv", "--output", output]);
    let expected = text(&project.muffle(&["predict", "run", "--data", "new.csv"]));
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() }.unwrap();
    let file = folder.path().join("scores.csv");
    for before in [None, Some("old\n".repeat(1000))] {
        if let Some(text) = &before {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(text(&predict(file.to_str().unwrap())), "");
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_bad_row_is_named_and_nothing_is_half_written() {
    let project = trained();
    let table = rows(30_000) + "0.5,last,old,,0.1\n0.5,short\n";
    fs::write(project.path("new.csv"), table).unwrap();
    fs::write(project.path("scores.csv"), "what was there").unwrap();
    let predict = ["predict", "run", "--data", "new.csv", "--output", "scores.csv"];
    refused(
        &project.muffle(&predict),
        &["new.csv, line 30002, column `a`", "\"old\" is not a number", "--skip-bad"],
    );
    assert_eq!(fs::read_to_string(project.path("scores.csv")).unwrap(), "what was there");
    let skipped = project.muffle(&[&predict[..], &["--skip-bad", "--json"]].concat());
    let message = String::from_utf8_lossy(&skipped.stderr);
    assert!(message.contains("2 rows were left out") && message.contains("line 30002"), "{message}");
    let report = last_json(&skipped);
    assert_eq!((&report["records"], &report["skipped"]), (&30_000.into(), &2.into()), "{report}");
    assert_eq!(fs::read_to_string(project.path("scores.csv")).unwrap().lines().count(), 30_001);
    refused(&piped(&project, "a,b\n1,1\n", &[]), &["standard input, line 1: no column `c`"]);
    refused(&project.muffle(&["predict", "run", "--data", "gone.csv"]), &["gone.csv"]);
    refused(&piped(&project, &rows(3), &["--threads", "100000"]), &["--threads 100000"]);
    let json = ["predict", "run", "--data", "new.csv", "--json", "--output", "-"];
    refused(&project.muffle(&json), &["standard output has the rows"]);
}

#[test]
fn a_threshold_decides_between_two_classes() {
    let project = trained();
    let scores = text(&piped(&project, &rows(300), &["--threshold", "0.8"]));
    assert!(scores.starts_with("id,class,probability_no,probability_yes,threshold\n"), "{scores}");
    for line in scores.lines().skip(1) {
        let cells: Vec<&str> = line.rsplitn(5, ',').collect();
        let yes: f64 = cells[1].parse().unwrap();
        // A probability is written with six digits.
        assert!((yes - 0.8).abs() < 1e-6 || (cells[3] == "yes") == (yes > 0.8), "{line}");
        assert_eq!(cells[0], "0.800000");
    }
    refused(&piped(&project, &rows(3), &["--threshold", "1.8"]), &["outside [0, 1]"]);
}

#[test]
fn columns_and_arrays_say_what_the_text_says() {
    let project = trained();
    fs::write(project.path("new.csv"), rows(5_000)).unwrap();
    let expected = text(&project.muffle(&["predict", "run", "--data", "new.csv"]));
    let predict = |output: &str| {
        text(&project.muffle(&["predict", "run", "--data", "new.csv", "--output", output]));
    };
    predict("scores.parquet");
    predict("scores.npz");
    let archive = fs::File::open(project.path("scores.npz")).unwrap();
    let mut archive = zip::ZipArchive::new(archive).unwrap();
    let mut bytes = Vec::new();
    archive.by_name("probability_yes.npy").unwrap().read_to_end(&mut bytes).unwrap();
    let shares = bytes[bytes.len() - 4 * 5_000..].as_chunks().0.iter().map(|word| f32::from_le_bytes(*word));
    for (line, share) in expected.lines().skip(1).zip(shares) {
        let written: f32 = line.rsplit(',').next().unwrap().parse().unwrap();
        assert!((written - share).abs() < 1e-6, "{line} and {share}");
    }
    // What was written as columns can be read as such: another model that takes a probability as its input.
    let chained = "format = \"parquet\"\npath = \"scores.parquet\"\ntest_fraction = 0.5\nlabel = \"class\"\n\
                   classes = [\"no\", \"yes\"]\ncolumns = [{ name = \"probability_yes\", range = [0, 1] }]\n";
    fs::write(project.path("chained.toml"), chained).unwrap();
    let settings =
        ["--data", "chained.toml", "--set", "records=2500", "--set", "steps=20", "--output", "second"];
    let output =
        project.muffle(&[&["train", "small.toml", "--quiet", "--seed", "1"][..], &settings].concat());
    assert!(output.status.success(), "{output:?}");
    let from_columns = text(&project.muffle(&["predict", "second", "--data", "scores.parquet"]));
    assert_eq!(from_columns.lines().nth(1).map(|line| line.starts_with("\"n,0\",")), Some(true));
    assert_eq!(from_columns.lines().count(), 5_001);
}

/// A grey image of one level.
fn image(level: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 4, 4);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[level; 16]).unwrap();
    bytes
}

/// An archive with one array of bytes.
fn archive(name: &str, sizes: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {sizes}, }}");
    let header = format!("{header:<117}\n");
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    writer.start_file(format!("{name}.npy"), stored).unwrap();
    writer.write_all(&[b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), values].concat()).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn images_and_arrays_need_no_labels() {
    let project = Project::new();
    for (split, count) in [("train", 40), ("test", 8)] {
        for index in 0..count {
            let (class, level) = if index % 2 == 0 { ("dark", index) } else { ("light", 255 - index) };
            let folder = project.path(format!("images/{split}/{class}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{index}.png")), image(level)).unwrap();
        }
    }
    fs::write(project.path("images.toml"), "format = \"images\"\npath = \"images\"\nchannels = 1\n").unwrap();
    let model = "model={layers=[{type=\"flatten\"},{type=\"dense\",features=2}]}";
    let settings = ["--set", model, "--set", "records=40", "--set", "batch_size=20", "--set", "steps=40"];
    let fixed = ["train", "small.toml", "--quiet", "--seed", "1", "--output", "run", "--data", "images.toml"];
    let output = project.muffle(&[&fixed[..], &settings].concat());
    assert!(output.status.success(), "{output:?}");
    fs::create_dir(project.path("new")).unwrap();
    for (name, level) in [("b.png", 250), ("a.png", 3), ("c.png", 200)] {
        fs::write(project.path("new").join(name), image(level)).unwrap();
    }
    let model = project.path("run/model.safetensors").display().to_string();
    let by_files = text(&project.muffle(&["predict", &model, "--data", "new"]));
    let answers = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_string()).collect()
    };
    assert!(by_files.starts_with("file,class,probability_dark,probability_light\na.png,dark,"), "{by_files}");
    assert!(by_files.contains("\nb.png,light,") && by_files.contains("\nc.png,light,"), "{by_files}");
    let pixels = [[3; 16], [250; 16], [200; 16]].concat();
    for (sizes, name) in [("(3, 4, 4)", "x"), ("(3, 1, 4, 4)", "anything"), ("(3, 4, 4, 1)", "x_test")] {
        fs::write(project.path("new.npz"), archive(name, sizes, &pixels)).unwrap();
        let by_array = text(&project.muffle(&["predict", &model, "--data", "new.npz"]));
        assert!(by_array.starts_with("record,class,"), "{by_array}");
        assert_eq!(answers(&by_array), answers(&by_files), "{sizes}");
    }
    fs::write(project.path("new.npz"), archive("x", "(3, 16)", &pixels)).unwrap();
    refused(
        &project.muffle(&["predict", &model, "--data", "new.npz"]),
        &["array `x`", "[3, 16]", "[1, 4, 4]"],
    );
    fs::write(project.path("new/d.png"), "no image").unwrap();
    refused(&project.muffle(&["predict", &model, "--data", "new"]), &["d.png"]);
    let skipped = project.muffle(&["predict", &model, "--data", "new", "--skip-bad"]);
    assert_eq!(String::from_utf8_lossy(&skipped.stdout), by_files);
    // With folders for classes it is evaluated, all of it.
    let evaluated = last_json(&project.muffle(&["evaluate", &model, "--data", "images/test", "--json"]));
    assert_eq!(evaluated["records"], 8);
    refused(
        &project.muffle(&["evaluate", &model, "--data", "images/train/dark"]),
        &["one folder for each class"],
    );
}
