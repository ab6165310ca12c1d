//! Replies: the answer, the call that goes on without it, and the callback that returns.

use std::future::poll_fn;

use shuttle::future::block_on;
use shuttle::thread;

use super::*;
use crate::runtime::host::HostFn;
use crate::runtime::pool::Pool;
use crate::sync::explore;

#[derive(Default)]
struct Heard(Mutex<usize>);

impl Late for Heard {
    fn late(&self, _: Answer) {
        *self.0.lock() += 1;
    }
}

struct Idle;

impl HostFn for Idle {
    fn call(&self, _: Option<&Arc<Reply>>, _: &[u8], _: &[u8]) {}
}

fn dispatcher() -> Arc<Dispatcher> {
    Dispatcher::new(Arc::new(Pool::new(Default::default())), true, 1000)
}

fn owed() -> (Arc<Reply>, Arc<Heard>) {
    let bounds = Bounds { bytes: 100, depth: 10 };
    let (reply, heard) = (Reply::new(&dispatcher(), Owed::Output, bounds, None), Arc::<Heard>::default());
    reply.report_late_to(heard.clone());
    (reply, heard)
}

fn answers(reply: &Arc<Reply>) -> thread::JoinHandle<Result<(), Code>> {
    let reply = reply.clone();
    thread::spawn(move || reply.json(b"1").map_err(|error| error.code))
}

/// Two threads answer while the call gives up: what a host is told is what became of its answer (AS-CONC-011).
#[test]
fn an_answer_counts_or_is_late() {
    explore(|| {
        let (reply, heard) = owed();
        let hosts = [answers(&reply), answers(&reply)];
        let call = thread::spawn(move || match reply.poll(Waker::noop()) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => reply.leave(),
        });
        let said = hosts.map(|host| host.join().unwrap());
        let count = |what| said.iter().filter(|said| **said == what).count();
        let counted = usize::from(call.join().unwrap().is_some());
        assert_eq!(count(Ok(())), counted, "answers that were taken, and that counted");
        assert_eq!(count(Err(Code::Late)), 1 - counted);
        assert_eq!(*heard.0.lock(), 1 - counted, "late answers that were told");
        assert_eq!(count(Err(Code::Settled)), 1);
    });
}

/// The answer comes while the callback that has deferred it returns: it is never taken for none, and the call wakes.
#[test]
fn a_deferred_answer_reaches_the_call() {
    explore(|| {
        let (reply, _) = owed();
        let asked = reply.clone();
        let callback = thread::spawn(move || {
            asked.started(None, &(Arc::new(Idle) as Hook));
            asked.defer().ok().unwrap();
            let answer = answers(&asked);
            asked.returned();
            assert_eq!(answer.join().unwrap(), Ok(()));
        });
        assert!(matches!(block_on(poll_fn(|cx| reply.poll(cx.waker()))), Answer::Json(_)));
        callback.join().unwrap();
    });
}

/// What a handler that outlives its call must hold is let go of exactly when it ends.
#[test]
fn what_is_held_goes_with_the_handler() {
    explore(|| {
        let (reply, _) = owed();
        let slot = Arc::new(());
        let held = slot.clone();
        let call = {
            let reply = reply.clone();
            thread::spawn(move || match reply.leave() {
                Some(_) => drop(held),
                None => drop(reply.hold(Box::new(held))),
            })
        };
        let answer = answers(&reply);
        call.join().unwrap();
        let _ = answer.join().unwrap();
        assert_eq!(Arc::strong_count(&slot), 1, "the handler has ended");
    });
}

/// A notice that is asked for while the call is aborted comes once.
#[test]
fn a_notice_of_an_abort_comes_once() {
    explore(|| {
        let (dispatcher, signal) = (dispatcher(), Signal::new("x".into()));
        let hook: Hook = Arc::new(Idle);
        let asks = {
            let (dispatcher, signal, hook) = (dispatcher.clone(), signal.clone(), hook.clone());
            thread::spawn(move || signal.notify(&dispatcher, hook))
        };
        let raises = [signal.clone(), signal.clone()].map(|signal| {
            let dispatcher = dispatcher.clone();
            thread::spawn(move || signal.raise(&dispatcher))
        });
        assert!(asks.join().unwrap());
        for raise in raises {
            raise.join().unwrap();
        }
        signal.close();
        assert_eq!(dispatcher.pull.as_ref().unwrap().close().len(), 1, "notices");
        assert_eq!(Arc::strong_count(&hook), 1, "its table is let go of");
    });
}

/// The call ends while it is aborted and a notice is asked for: it comes once or not at all, and its table is let go of.
#[test]
fn a_notice_at_the_end_of_a_call() {
    explore(|| {
        let (dispatcher, signal) = (dispatcher(), Signal::new("x".into()));
        let hook: Hook = Arc::new(Idle);
        let (d, s, h) = (dispatcher.clone(), signal.clone(), hook.clone());
        let asks = thread::spawn(move || s.notify(&d, h));
        let (d, s) = (dispatcher.clone(), signal.clone());
        let raises = thread::spawn(move || s.raise(&d));
        let s = signal.clone();
        let closes = thread::spawn(move || s.close());
        assert!(asks.join().unwrap());
        raises.join().unwrap();
        closes.join().unwrap();
        assert!(dispatcher.pull.as_ref().unwrap().close().len() <= 1);
        assert_eq!(Arc::strong_count(&hook), 1, "its table is let go of");
    });
}
