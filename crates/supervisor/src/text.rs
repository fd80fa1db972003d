//! Text as the operating system has it: bytes.
//!
//! Knows how Python writes bytes that are not UTF-8 into JSON (lone surrogates U+DC80 to U+DCFF,
//! "surrogateescape"). Must not know what the text means.

use std::ffi::{CString, OsString};
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(Vec<u8>);

impl Text {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.0.clone()))
    }

    pub fn to_c(&self) -> CString {
        CString::new(self.0.clone()).expect("checked for NUL when it was read")
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string without NUL")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
        if bytes.contains(&0) {
            return Err(E::custom("a string holds NUL"));
        }
        Ok(Text(unescape_surrogates(bytes)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        self.visit_bytes(text.as_bytes())
    }
}

/// Turn the three bytes of each escaped surrogate (ED B2 80 to ED B3 BF) back into the one byte it stands for.
fn unescape_surrogates(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        match rest {
            [0xED, high @ 0xB2..=0xB3, low, after @ ..] => {
                out.push(((high & 0x03) << 6) | (low & 0x3F));
                rest = after;
            }
            _ => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_bytes(TextVisitor)
    }
}

/// What must not be shown; also not by `{:?}`. Unlike other text it may hold NUL: it is only looked for.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[masked]")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Secret;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Secret, E> {
                Ok(Secret(unescape_surrogates(bytes)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
                self.visit_bytes(text.as_bytes())
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The environment of an attempt, in the order it was sent.
#[derive(Clone, Debug, Default)]
pub struct Environment(pub Vec<(Text, Text)>);

impl Environment {
    pub fn get(&self, name: &str) -> Option<&Text> {
        self.0.iter().find(|(key, _)| key.bytes() == name.as_bytes()).map(|(_, value)| value)
    }

    pub fn set(&mut self, name: &str, value: &[u8]) {
        self.0.retain(|(key, _)| key.bytes() != name.as_bytes());
        self.0.push((Text(name.into()), Text(value.into())));
    }

    /// `NAME=value` strings as exec wants them.
    pub fn to_c(&self) -> Vec<CString> {
        let join = |(key, value): &(Text, Text)| Text([key.bytes(), b"=", value.bytes()].concat()).to_c();
        self.0.iter().map(join).collect()
    }
}

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Environment, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Environment;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environment, A::Error> {
                let mut pairs = Vec::with_capacity(32);
                while let Some((key, value)) = map.next_entry::<Text, Text>()? {
                    if key.bytes().is_empty() || key.bytes().contains(&b'=') {
                        return Err(A::Error::custom(format!("{key:?} cannot name a variable")));
                    }
                    pairs.push((key, value));
                }
                Ok(Environment(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_surrogates_become_the_bytes_they_stand_for() {
        let text: Text = serde_json::from_str(r#""a\udcff\udc80é""#).unwrap();
        assert_eq!(text.bytes(), b"a\xff\x80\xc3\xa9");
    }

    #[test]
    fn other_text_is_left_alone() {
        let text: Text = serde_json::from_str(r#""\u00e9 \ud83d\ude00 ퟿""#).unwrap();
        assert_eq!(text.bytes(), "é 😀 ퟿".as_bytes());
    }

    #[test]
    fn nul_and_bad_names_are_refused() {
        assert!(serde_json::from_str::<Text>(r#""a\u0000b""#).is_err());
        assert!(serde_json::from_str::<Environment>(r#"{"a=b":"c"}"#).is_err());
        assert!(serde_json::from_str::<Environment>(r#"{"":"c"}"#).is_err());
    }

    #[test]
    fn a_secret_may_hold_any_byte_and_shows_none() {
        let secret: Secret = serde_json::from_str(r#""a\u0000\udcffb""#).unwrap();
        assert_eq!(secret.bytes(), b"a\0\xffb");
        assert_eq!(format!("{secret:?}"), "[masked]");
    }

    #[test]
    fn environment_keys_may_hold_bytes_too() {
        let env: Environment = serde_json::from_str(r#"{"K\udce9":"v"}"#).unwrap();
        assert_eq!(env.to_c()[0].as_bytes(), b"K\xe9=v");
    }
}
