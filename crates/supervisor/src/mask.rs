//! Secrets kept out of what an attempt prints.
//!
//! Knows a stream of bytes and the strings that must not be in it. Must not know where the bytes go.
//!
//! Bytes that may be the beginning of a secret are held back until it is clear what they are, or until nothing has come
//! for a while: who follows the log of a prompt without a line end must see it. What was shown then is remembered, so
//! that of a secret written with a long pause inside at least the rest is masked.

use std::time::{Duration, Instant};

use crate::text::Secret;

const MASKED: &[u8] = b"[masked]";
const PATIENCE: Duration = Duration::from_millis(200);

pub struct Mask {
    /// The longest first, so that the first that matches is the longest.
    secrets: Vec<Vec<u8>>,
    /// Whether a secret begins with this byte: most of what is printed is passed over with one look each.
    begins: [bool; 256],
    /// From the first byte on that is still unclear.
    held: Vec<u8>,
    /// How many bytes of `held` were shown when nothing more came.
    shown: usize,
    /// Up to where `held` belongs to secrets that are known already.
    covered: usize,
    flush_at: Option<Instant>,
}

impl Mask {
    pub fn new(secrets: &[Secret]) -> Mask {
        let mut secrets: Vec<Vec<u8>> = secrets.iter().map(|s| s.bytes().to_vec()).filter(|s| !s.is_empty()).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        let mut begins = [false; 256];
        secrets.iter().for_each(|s| begins[s[0] as usize] = true);
        Mask { secrets, begins, held: Vec::new(), shown: 0, covered: 0, flush_at: None }
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// When the loop has to come back to show what is held.
    pub fn flush_at(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Take what was printed; what of it may be shown by now goes to `out`.
    pub fn push(&mut self, bytes: &[u8], now: Instant, out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let clear = self.scan(false, out);
        self.held.drain(..clear);
        self.shown = self.shown.saturating_sub(clear);
        self.covered = self.covered.saturating_sub(clear);
        self.flush_at = (self.shown < self.held.len()).then(|| now + PATIENCE);
    }

    /// Show what is held when it was held long enough.
    pub fn look(&mut self, now: Instant, out: &mut Vec<u8>) {
        if self.flush_at.is_some_and(|at| now >= at) {
            self.flush(out);
        }
    }

    /// Show all that is held. It stays known: what follows may make a secret of it.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.scan(true, out);
        self.shown = self.held.len();
        self.flush_at = None;
    }

    /// Go through what is held, up to the first byte that is unclear; with `all`, to the end. Every byte of every
    /// occurrence is masked, also where two overlap; those that do have one mark. Returns how far it went.
    fn scan(&mut self, all: bool, out: &mut Vec<u8>) -> usize {
        let mut i = 0;
        while i < self.held.len() {
            let rest = &self.held[i..];
            if self.begins[rest[0] as usize] {
                if !all && self.may_become_secret(rest) {
                    return i;
                }
                if let Some(secret) = self.secrets.iter().find(|s| rest.starts_with(s)) {
                    let end = i + secret.len();
                    if end > self.covered {
                        if self.covered <= i || self.covered < self.shown {
                            out.extend_from_slice(MASKED);
                        }
                        self.covered = end;
                    }
                }
            }
            let next = self.next_beginning(i + 1);
            let shown_from = i.max(self.shown).max(self.covered).min(next);
            out.extend_from_slice(&self.held[shown_from..next]);
            i = next;
        }
        i
    }

    /// The next byte at which a secret may begin, or the end.
    fn next_beginning(&self, from: usize) -> usize {
        let begins = |byte: &u8| self.begins[*byte as usize];
        self.held[from..].iter().position(begins).map_or(self.held.len(), |n| from + n)
    }

    fn may_become_secret(&self, rest: &[u8]) -> bool {
        self.secrets.iter().take_while(|s| s.len() > rest.len()).any(|s| s.starts_with(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(secrets: &[&str]) -> Mask {
        let secrets: Vec<Secret> = secrets.iter().map(|s| serde_json::from_value((*s).into()).unwrap()).collect();
        Mask::new(&secrets)
    }

    /// All of it in chunks of one size, without a pause.
    fn masked(secrets: &[&str], text: &str, size: usize) -> String {
        let (mut mask, mut out) = (mask(secrets), Vec::new());
        for chunk in text.as_bytes().chunks(size) {
            mask.push(chunk, Instant::now(), &mut out);
        }
        mask.flush(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn secrets_are_masked_whatever_the_chunks() {
        let cases: [(&[&str], &str, &str); 12] = [
            (&["secret"], "a secret b", "a [masked] b"),
            (&["secret"], "secretsecret", "[masked][masked]"),
            (&["secret"], "secresecret secre", "secre[masked] secre"),
            (&["secret"], "sesecret", "se[masked]"),
            (&["secret", "secret-longer"], "secret secret-longer secret-lo", "[masked] [masked] [masked]-lo"),
            (&["secret", "secret-longer", "-longer"], "secret-longest -longer", "[masked]-longest [masked]"),
            (&["abcdef", "defghi"], "xabcdefghix", "x[masked]x"),
            (&["abcdef", "cd1234"], "abcd1234 abcdef", "ab[masked] [masked]"),
            (&["aaaaaa"], "aaaaaaaaaa aaaaa", "[masked] aaaaa"),
            (&["two\nlines"], "two\nlines\ntwo\n", "[masked]\ntwo\n"),
            (&["", "secret"], "no secret", "no [masked]"),
            (&["schlüssel"], "der schlüssel", "der [masked]"),
        ];
        for (secrets, text, expected) in cases {
            for size in 1..=text.len() {
                assert_eq!(masked(secrets, text, size), expected, "{text:?} in chunks of {size}");
            }
        }
    }

    #[test]
    fn agrees_with_a_plain_search_on_any_text() {
        // Few letters, so that beginnings, repetitions and overlaps are frequent. The plain search: mark every byte of
        // every occurrence, and begin a mark wherever one begins at which none goes on.
        let secrets = ["abab", "ababba", "bb", "baab", "aaaa"];
        let mut random = 1u64;
        for _ in 0..3000 {
            let mut next = |n: u64| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 33) % n
            };
            let text: String = (0..next(40)).map(|_| ['a', 'b', 'c'][next(3) as usize]).collect();
            let (mut expected, mut covered) = (String::new(), 0);
            for i in 0..text.len() {
                let ends = secrets.iter().filter(|s| text[i..].starts_with(**s)).map(|s| i + s.len());
                if let Some(end) = ends.max() {
                    if covered <= i {
                        expected += "[masked]";
                    }
                    covered = covered.max(end);
                }
                if i >= covered {
                    expected.push_str(&text[i..i + 1]);
                }
            }
            assert_eq!(masked(&secrets, &text, 1 + next(5) as usize), expected, "{text}");
        }
    }

    #[test]
    fn only_what_may_become_a_secret_is_held_and_not_for_long() {
        let (mut mask, mut out, now) = (mask(&["secret"]), Vec::new(), Instant::now());
        mask.push(b"no newline, sec", now, &mut out);
        assert_eq!((out.as_slice(), mask.flush_at()), (&b"no newline, "[..], Some(now + PATIENCE)));
        mask.look(now + PATIENCE / 2, &mut out);
        assert_eq!(out, b"no newline, ");
        mask.look(now + PATIENCE, &mut out);
        assert_eq!((out.as_slice(), mask.flush_at()), (&b"no newline, sec"[..], None));
        mask.push(b"ond", now, &mut out);
        mask.flush(&mut out);
        assert_eq!(out, b"no newline, second");
    }

    #[test]
    fn of_a_secret_with_a_long_pause_inside_the_rest_is_masked() {
        let after_a_pause = |secrets: &[&str], parts: &[&str]| {
            let (mut mask, mut out, now) = (mask(secrets), Vec::new(), Instant::now());
            for part in parts {
                mask.push(part.as_bytes(), now, &mut out);
                mask.look(now + PATIENCE, &mut out);
            }
            mask.flush(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(after_a_pause(&["secret"], &["a sec", "ret b"]), "a sec[masked] b");
        assert_eq!(after_a_pause(&["secret"], &["s", "e", "cre", "t b"]), "secre[masked] b");
        assert_eq!(after_a_pause(&["secret", "secret-longer"], &["secret", "-lon", "ger."]), "[masked]-lon[masked].");
        assert_eq!(after_a_pause(&["secret", "secret-longer"], &["secret", "-longer."]), "[masked].");
        assert_eq!(after_a_pause(&["secret", "secret-longer"], &["secret", "-x"]), "[masked]-x");
        assert_eq!(after_a_pause(&["secret"], &["sec", "secret"]), "sec[masked]");
    }
}
