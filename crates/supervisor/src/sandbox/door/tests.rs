use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);
const MUCH: usize = 10_000_000;

/// A door with a shell's script behind it; the name stays, as nobody has entered a sandbox.
fn open(script: &str, keep: &[&str]) -> (PathBuf, Open) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("budwood-door-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let words = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
    let server = Server { words, keep: keep.iter().map(OsString::from).collect() };
    (path.clone(), Door::make(&path, server).unwrap().open().unwrap())
}

fn come(path: &Path) -> UnixStream {
    let client = UnixStream::connect(path).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

fn read_all(mut client: &UnixStream) -> Vec<u8> {
    let mut heard = Vec::new();
    match client.read_to_end(&mut heard) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("nothing came: {error}"),
        _ => heard,
    }
}

fn read_line(mut client: &UnixStream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") && client.read(&mut byte).unwrap() == 1 {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim_end().into()
}

#[test]
fn what_was_said_is_answered_though_the_client_says_no_more() {
    let (path, open) = open("cat; echo the end", &[]);
    let client = come(&path);
    let said: Vec<u8> = (0..MUCH).map(|at| (at % 251) as u8).collect();
    let (mut speaks, all) = (client.try_clone().unwrap(), said.clone());
    let speaking = thread::spawn(move || {
        speaks.write_all(&all).unwrap();
        speaks.shutdown(Shutdown::Write).unwrap();
    });
    let heard = read_all(&client);
    speaking.join().unwrap();
    assert!(heard == [&said[..], b"the end\n"].concat(), "{} bytes", heard.len());
    assert!(open.shut().failed.is_empty());
    assert!(!path.exists());
}

#[test]
fn a_server_stands_nowhere_and_has_what_is_kept_for_it() {
    let (path, open) = open("pwd; env | grep -c .; echo $HOME $CARGO_PKG_NAME", &["HOME", "NOBODY_HAS_SET_THIS"]);
    let heard = String::from_utf8(read_all(&come(&path))).unwrap();
    // A shell sets PWD itself.
    assert_eq!(heard, format!("/\n2\n{}\n", std::env::var("HOME").unwrap()));
    open.shut();
}

#[test]
fn one_more_than_there_may_be_is_refused_and_comes_in_when_another_has_gone() {
    let (path, open) = open("echo $$; exec cat", &[]);
    let mut clients: Vec<UnixStream> = (0..MOST_CONNECTIONS).map(|_| come(&path)).collect();
    let mut pids: Vec<String> = clients.iter().map(read_line).collect();
    pids.dedup();
    assert_eq!(pids.len(), MOST_CONNECTIONS);
    assert_eq!(read_all(&come(&path)), b"");
    let last = clients.pop().unwrap();
    last.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&last), b"");
    let until = Instant::now() + PATIENCE;
    while read_line(&come(&path)).is_empty() {
        assert!(Instant::now() < until, "nobody is let in");
    }
    assert!(open.shut().refused >= 1);
}

#[test]
fn many_come_one_after_another_and_many_at_once() {
    let (path, open) = open("cat", &[]);
    let rounds: Vec<_> = (0..MOST_CONNECTIONS)
        .map(|number| {
            let path = path.clone();
            thread::spawn(move || {
                for round in 0..20 {
                    let said = format!("{number} {round}\n");
                    // The place of the one before may not be free yet.
                    loop {
                        let mut client = come(&path);
                        let sent = client.write_all(said.as_bytes()).and_then(|()| client.shutdown(Shutdown::Write));
                        if sent.is_ok() && read_all(&client) == said.as_bytes() {
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    rounds.into_iter().for_each(|each| each.join().unwrap());
    assert!(open.shut().failed.is_empty());
}

#[test]
fn when_it_is_shut_no_server_is_left_whether_its_client_speaks_or_never_did() {
    let (path, open) = open("trap '' TERM; sleep 60 & echo $$; wait", &[]);
    let clients = [come(&path), come(&path)];
    let pids = clients.each_ref().map(|client| read_line(client).parse::<libc::pid_t>().unwrap());
    let silent = come(&path);
    let began = Instant::now();
    assert!(open.shut().failed.is_empty());
    assert!(began.elapsed() < PATIENCE / 2);
    for pid in pids {
        assert!(sys::kill(pid, 0).is_err(), "{pid} is there");
    }
    clients.iter().for_each(|client| assert_eq!(read_all(client), b""));
    read_all(&silent); // whatever its server came to say, it ends
    assert!(UnixStream::connect(&path).is_err());
}

#[test]
fn a_server_that_does_not_notice_that_its_client_has_gone_is_ended() {
    let (path, open) = open("echo $$; exec sleep 60", &[]);
    let pid = read_line(&come(&path)).parse::<libc::pid_t>().unwrap();
    let until = Instant::now() + PATIENCE;
    while sys::kill(pid, 0).is_ok() {
        assert!(Instant::now() < until, "{pid} is there");
        thread::sleep(PAUSE);
    }
    assert!(open.shut().failed.is_empty());
}

#[test]
fn of_a_server_that_fails_the_client_hears_the_end_and_its_words_are_kept() {
    let (path, open) = open("echo begun; seq 100000 >&2; echo 'error: no store' >&2; exit 3", &[]);
    assert_eq!(read_all(&come(&path)), b"begun\n");
    let told = open.shut();
    assert!(told.failed[0].starts_with("exit status: 3: "), "{:?}", told.failed);
    assert!(told.failed[0].ends_with("99999 100000 error: no store"), "{:?}", told.failed);
    assert!(told.failed[0].len() < SAID_BYTES + 40);
}

#[test]
fn one_that_cannot_be_started_is_told_of() {
    let path = std::env::temp_dir().join(format!("budwood-door-{}-none", std::process::id()));
    let server = Server { words: vec!["/nowhere/server".into()], keep: Vec::new() };
    let open = Door::make(&path, server).unwrap().open().unwrap();
    assert_eq!(read_all(&come(&path)), b"");
    assert!(open.shut().failed[0].starts_with("it could not be started: "));
}
