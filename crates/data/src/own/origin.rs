//! What a path of the user's own leads to.

use std::path::Path;

/// What kind of records lie at a path, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A description, or something that is none of the others.
    Described,
    /// A table as text, plain or compressed; so is what comes out of a pipe.
    Text,
    /// A table in columns.
    Columns,
    /// Arrays of NumPy.
    Arrays,
    /// A folder of images.
    Folder,
}

impl Origin {
    /// Of a path.
    pub fn of(path: &Path) -> Origin {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("").to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or(name.strip_suffix(".xz")).unwrap_or(&name);
        match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
            _ if path.is_dir() => Origin::Folder,
            "csv" | "tsv" => Origin::Text,
            "parquet" => Origin::Columns,
            "npz" => Origin::Arrays,
            _ if path.exists() && !path.is_file() => Origin::Text,
            _ => Origin::Described,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_what_a_file_is() {
        let origin = |name: &str| Origin::of(Path::new(name));
        assert_eq!(origin("a/people.CSV"), Origin::Text);
        assert_eq!(origin("people.csv.gz"), Origin::Text);
        assert_eq!(origin("people.parquet"), Origin::Columns);
        assert_eq!(origin("digits.npz"), Origin::Arrays);
        assert_eq!(origin("people.toml"), Origin::Described);
        assert_eq!(origin("gz"), Origin::Described);
        assert_eq!(origin("."), Origin::Folder);
        #[cfg(unix)]
        assert_eq!(origin("/dev/null"), Origin::Text);
    }
}
