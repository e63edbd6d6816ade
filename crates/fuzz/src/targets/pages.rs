//! What pages are made of: plots and texts that commands left in a folder, and the requests of browsers.

use super::{said, seeds, text};
use crate::mutate::text as text_mutation;
use crate::target::{Memory, Target};
use muffle_page::plot::{draw, file};
use muffle_page::results::Plots;
use muffle_page::server::Request;
use muffle_page::view::markdown;

pub static PLOTS: Target = Target {
    name: "plots",
    door: "Plots, plot::draw",
    seeds: || seeds(&[PANELS, NUMBERS]),
    mutate: text_mutation::mutate,
    parse: |input| {
        let plots: Plots = serde_json::from_str(text(input)?).map_err(said)?;
        drop(file(&draw(&plots.panels)));
        Ok(())
    },
    // A panel of three bytes has axes with all their labels; a point of six is said in words, with the names of its axes.
    memory: Memory { fixed: 1 << 17, each: 1 << 12 },
};

pub static RESULTS: Target = Target {
    name: "results",
    door: "markdown::elements",
    seeds: || seeds(&[TEXT]),
    mutate: text_mutation::mutate,
    parse: |input| {
        for element in markdown::elements(text(input)?) {
            drop(element.to_string());
        }
        Ok(())
    },
    // A cell is one byte, a heading four.
    memory: Memory { fixed: 1 << 16, each: 1 << 10 },
};

pub static REQUEST: Target = Target {
    name: "request",
    door: "Request::parse",
    seeds: || seeds(&REQUESTS),
    mutate: text_mutation::mutate,
    parse: |input| match Request::parse(input) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err("not whole".to_string()),
        Err(status) => Err(format!("{status:?}")),
    },
    memory: Memory { fixed: 1 << 16, each: 256 },
};

const PANELS: &str = r#"{"caution":"careful","panels":[{"title":"accuracy","x_label":"steps","y_label":"%","x_logarithmic":true,
"y_logarithmic":false,"x_close_up":false,"y_close_up":true,"lines":[{"name":"one","points":[[1,10.5],[60,40],[100,90]],"bars":[],
"scattered":false},{"name":"two","points":[[50,20]],"bars":[[50,15,25]],"scattered":true}]},{}],"evidence":[{"run":"ab","attack":
"loss","false_positive_rate":0.1,"true_positive_rate":0.2,"interval":[0.15,0.25]}]}"#;

/// Numbers at which an axis has little room.
const NUMBERS: &str = r#"{"panels":[{"lines":[{"points":[[0,0],[5e-324,1e-320],[1e300,1e16],[-1e308,1e308]]}]},
{"y_close_up":true,"lines":[{"points":[[1e17,1e17],[100000000000000016,1e300]]}]},{"x_logarithmic":true,"y_logarithmic":true,
"lines":[{"points":[[1e-320,1e308],[1,-1]]}]}]}"#;

const TEXT: &str = "# Title\n\nSome words\nin two lines.\n\n## Table\n\n| method | accuracy \\| % |\n|---|---:|\n| dp-sgd | 95.1 |\n| <i> \
                    | -0.5 |\n\n```\nmuffle train\n```\n";

const REQUESTS: [&str; 3] = [
    "GET /run/a%20b?text=x+y&run=1&run=%3C HTTP/1.1\r\nHost: localhost:1\r\nAccept: */*\r\n\r\n",
    "HEAD / HTTP/1.0\r\nhost: [::1]:7000\r\n\r\n",
    "GET /live?page=%2Frun%2Fa&mark=17 HTTP/1.1\r\nHost: 127.0.0.1:7000\r\nCookie: a=b\r\n\r\n",
];
