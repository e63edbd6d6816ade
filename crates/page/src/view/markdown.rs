//! The Markdown that commands of this program write: headings, tables, paragraphs, blocks of code. Nothing else has a meaning.

use crate::html::{Element, cell, el, figure_cell, table};

/// A text as elements; its own headings come below those of the page.
pub fn elements(text: &str) -> Vec<Element> {
    let (mut elements, mut lines) = (Vec::new(), text.lines().peekable());
    let mut heading = "results".to_string();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            elements.push(el("pre").attr("tabindex", 0).add(el("code").text(block.join("\n"))));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            elements.push(as_table(&heading, &rows));
        } else if let Some(title) = line.strip_prefix("## ") {
            heading = title.to_string();
            elements.push(el("h2").text(title));
        } else if let Some(title) = line.strip_prefix("# ") {
            heading = title.to_string();
            elements.push(el("h1").text(title));
        } else if !line.trim().is_empty() {
            let mut paragraph = vec![line];
            while let Some(more) =
                lines.next_if(|line| !line.trim().is_empty() && !line.starts_with(['|', '#', '`']))
            {
                paragraph.push(more);
            }
            elements.push(el("p").text(paragraph.join(" ")));
        }
    }
    elements
}

/// The cells of a row; a bar behind a backslash belongs to the text.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').replace("\\|", "\u{0}");
    let row = row.strip_suffix('|').unwrap_or(&row);
    row.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

fn as_table(caption: &str, rows: &[Vec<String>]) -> Element {
    let is_rule = |row: &&Vec<String>| {
        row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|it| "-: ".contains(it)))
    };
    let body = rows[1..].iter().filter(|row| !is_rule(row));
    let shown = |text: &String| match text
        .starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
    {
        true => figure_cell(text),
        false => cell(text),
    };
    table(caption, rows[0].clone(), body.map(|row| row.iter().map(shown).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_headings_paragraphs_and_nothing_else() {
        let text =
            "# One\n\n| a | b \\| c |\n|---|---|\n| <i> | 1.5 |\n\nfirst\nsecond\n\n```\n| no table |\n```\n";
        let html: String = elements(text).iter().map(ToString::to_string).collect();
        for part in [
            "<h1>One</h1>",
            "<th scope=\"col\">b | c</th>",
            "<td>&lt;i&gt;</td>",
            "<p>first second</p>",
            "| no table |",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("---") && html.matches("<table>").count() == 1, "{html}");
    }
}
