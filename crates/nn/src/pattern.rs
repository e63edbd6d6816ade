//! Patterns of names, in which `*` stands for anything.

/// Whether a name is one that the pattern describes.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match name.split_once(part) {
            Some((_, behind)) => name = behind,
            None => return false,
        }
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, expected) in [
            ("conv", "conv", true),
            ("conv", "conv1", false),
            ("conv.*", "conv.weight", true),
            ("conv.*", "convolution.weight", false),
            ("*", "", true),
            ("*.bias", "head.bias", true),
            ("*.bias", "head.bias.0", false),
            ("block*conv*weight", "block1.conv2.weight", true),
            ("block*conv*weight", "block1.norm.weight", false),
            // The part before the last star may not take what the end needs.
            ("a*a", "a", false),
            ("a*ab*b", "aab", false),
            ("a*ab*b", "aabb", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
