// SPDX-License-Identifier: BSL-1.0
//! rslock on Tokio.
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rslock::LockManager;
use tokio::sync::Barrier;

const WORKERS_SAMPLED: i64 = 16;
const TTL: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
struct Task {
    nodes: Vec<String>,
    contended: bool,
    convoy: bool,
    workers: i64,
    hold: Duration,
    pause_ms: Option<u64>,
    samples: String,
    run: String,
}

struct Record {
    begins: i64,
    ends: i64,
    done: u64,
    samples: Vec<i64>,
    failures: HashMap<String, u64>,
}

fn now() -> i64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut at) };
    at.tv_sec * 1_000_000_000 + at.tv_nsec
}

fn parse() -> Task {
    let mut out = Task { workers: 1, ..Task::default() };
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks_exact(2) {
        let value = pair[1].clone();
        match pair[0].as_str() {
            "--nodes" => out.nodes = value.split(',').map(|each| format!("redis://{each}/")).collect(),
            "--workload" => {
                out.convoy = value == "convoy";
                out.contended = out.convoy || value == "contended";
            }
            "--workers" => out.workers = value.parse().expect("--workers"),
            "--hold-us" => out.hold = Duration::from_micros(value.parse().expect("--hold-us")),
            "--pause-ms" => out.pause_ms = value.split('-').next_back().map(|high| high.parse().expect("--pause-ms")),
            "--samples" => out.samples = value,
            "--run" => out.run = value,
            _ => {}
        }
    }
    out
}

fn key(what: &Task, worker: i64) -> String {
    if what.contended { format!("contended:{}", what.run) } else { format!("own:{}:{}", what.run, worker) }
}

impl Record {
    fn cycle(&mut self, contended: bool, one: [i64; 5]) {
        if one[4] < self.begins || one[4] >= self.ends {
            return;
        }
        self.done += 1;
        if contended || one[0] < WORKERS_SAMPLED {
            self.samples.extend(one);
        }
    }

    fn finish(&self, path: &str) -> std::io::Result<()> {
        let bytes: Vec<u8> = self.samples.iter().flat_map(|each| each.to_le_bytes()).collect();
        std::fs::write(path, bytes)?;
        let failures: Vec<String> =
            self.failures.iter().map(|(text, count)| format!("\"{}\": {count}", text.replace('"', "'"))).collect();
        println!("{{\"done\": {}, \"failures\": {{{}}}}}", self.done, failures.join(", "));
        std::io::stdout().flush()
    }
}

async fn work(what: Task, locks: LockManager, worker: i64, seen: Arc<Mutex<Record>>, all: Arc<Barrier>) {
    let key = key(&what, worker);
    loop {
        let asked = now();
        let guard = match locks.acquire(key.as_str(), TTL).await {
            Ok(guard) => guard,
            Err(error) => {
                *seen.lock().unwrap().failures.entry(error.to_string()).or_default() += 1;
                continue;
            }
        };
        let granted = now();
        if !what.hold.is_zero() {
            tokio::time::sleep(what.hold).await;
        }
        let releasing = now();
        guard.release().await;
        seen.lock().unwrap().cycle(what.contended, [worker, asked, granted, releasing, now()]);
        if what.convoy {
            all.wait().await;
        }
    }
}

fn wait_for_start() -> (i64, i64) {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a window");
    let mut numbers = line.split_whitespace().map(|each| each.parse::<i64>().expect("a moment"));
    (numbers.next().expect("begin"), numbers.next().expect("end"))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let what = parse();
    let mut locks = LockManager::new(what.nodes.clone());
    if let Some(high) = what.pause_ms {
        locks.set_retry(3, Duration::from_millis(high)); // a random part of it; 200 ms else
    }
    let warm = format!("warm:{}:{}", what.run, now());
    locks.acquire(warm.as_str(), TTL).await.expect("a first lock").release().await;
    let (begins, ends) = wait_for_start();
    let seen = Arc::new(Mutex::new(Record { begins, ends, done: 0, samples: vec![], failures: HashMap::new() }));
    let all = Arc::new(Barrier::new(what.workers as usize));
    for worker in 0..what.workers {
        tokio::spawn(work(what.clone(), locks.clone(), worker, seen.clone(), all.clone()));
    }
    tokio::time::sleep(Duration::from_nanos((ends - now()).max(0) as u64)).await;
    let told = seen.lock().unwrap().finish(&what.samples);
    std::process::exit(told.map_or(1, |()| 0));
}
