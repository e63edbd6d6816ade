//! What is on a page: lines, points and words at their places.

/// A drawing, in pixels of a screen.
pub struct Drawing {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// In the order in which they cover each other.
    pub shapes: Vec<Shape>,
}

/// What a shape is drawn with. Files have fixed colours, a page its own in light and dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Lines that guide the eye.
    Grid,
    /// Axes.
    Axis,
    /// One of several lines of data.
    Series(usize),
}

/// One shape.
pub enum Shape {
    /// A line through points.
    Path {
        /// In order.
        points: Vec<(f64, f64)>,
        /// Its colour.
        ink: Ink,
        /// Its width.
        width: f64,
    },
    /// A point with a text to read when it is pointed at.
    Dot {
        /// Its middle.
        at: (f64, f64),
        /// How large it is; nothing is seen of one of zero, which can still be pointed at.
        radius: f64,
        /// Its colour.
        ink: Ink,
        /// What it is.
        title: String,
    },
    /// A filled rectangle from one corner to the other.
    Box {
        /// Upper left.
        from: (f64, f64),
        /// Lower right.
        to: (f64, f64),
        /// Its colour.
        ink: Ink,
        /// What it is; empty if it need not be said.
        title: String,
    },
    /// Words.
    Text {
        /// On the base line.
        at: (f64, f64),
        /// Which end of the words that is.
        anchor: Anchor,
        /// What they say.
        content: String,
    },
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The first letter.
    Start,
    /// The middle.
    Middle,
    /// The last letter.
    End,
}

/// Height of letters.
pub const FONT_SIZE: f64 = 12.0;

/// Colours that stay apart for colour-blind readers (Okabe and Ito).
pub const COLOURS: [[u8; 3]; 6] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
];

impl Ink {
    /// Red, green and blue on white paper.
    pub fn colour(self) -> [u8; 3] {
        match self {
            Ink::Grid => [0xdd; 3],
            Ink::Axis => [0; 3],
            Ink::Series(place) => COLOURS[place % COLOURS.len()],
        }
    }

    /// After the last colour they begin again, dashed.
    pub fn is_dashed(self) -> bool {
        matches!(self, Ink::Series(place) if place >= COLOURS.len())
    }
}

/// Lengths of a dash and of the gap behind it.
pub const DASH: [f64; 2] = [6.0, 3.0];
