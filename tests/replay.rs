//! Recorded conversations of a model, replayed through a toolset: which call ran, which was a repetition, which id was
//! used for something else, what a person let through, and that every result belongs to its request.
//!
//! Data: `examples/replay`, and where it is there `../shared/data/airline`: 60 conversations, 386 calls.
//! Shows: AS-ADAPTER-001, AS-IDENT-002, AS-IDENT-003, AS-BINDING-001, AS-BINDING-003, AS-BINDING-004, AS-TOPO-002.

use agent_surface::runtime::{Hook, HostFn, Reply};
use agent_surface::surface::{HostHooks, Invocation, Surface, verify_result};
use agent_surface::toolset::Toolset;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Step {
    conversation: usize,
    tool_call_id: String,
    name: String,
    arguments: Value,
    result: String,
}

/// What one replay came to.
#[derive(Debug, Default, PartialEq)]
struct Row {
    calls: usize,
    executed: usize,
    joined: usize,
    conflicts: usize,
    confirmed: usize,
    denied: usize,
    refused: usize,
    wrong: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Consumers {
    OneForEach,
    OneForAll,
}

#[derive(Clone, Copy)]
struct Replay {
    consumers: Consumers,
    /// `toolCallIds`.
    ids: &'static str,
}

struct Execution {
    consumer: Value,
    invocation_id: Value,
    answer: String,
}

/// The application behind the executor, and the person who is asked.
#[derive(Default)]
struct Desk {
    /// The recorded results of a request, in their order.
    recorded: Mutex<HashMap<String, VecDeque<String>>>,
    /// What ran.
    ran: Mutex<Vec<Execution>>,
    /// Whether nothing is answered until everything has been asked.
    patient: bool,
    /// Handlers that have not answered, with their answers.
    waiting: Mutex<Vec<(Arc<Reply>, String)>>,
    questions: Mutex<usize>,
    answers: Mutex<(usize, usize)>,
}

struct Function<F>(F);

impl<F: Fn(Option<&Arc<Reply>>, &[u8], &[u8]) + Send + Sync> HostFn for Function<F> {
    fn call(&self, reply: Option<&Arc<Reply>>, context: &[u8], input: &[u8]) {
        (self.0)(reply, context, input);
    }
}

fn hook(f: impl Fn(Option<&Arc<Reply>>, &[u8], &[u8]) + Send + Sync + 'static) -> Hook {
    Arc::new(Function(f))
}

fn request_key(path: &str, input: &Value) -> String {
    format!("{path} {input}")
}

impl Desk {
    fn execute(&self, reply: &Arc<Reply>, context: &[u8], input: &[u8]) {
        let context: Value = serde_json::from_slice(context).unwrap();
        let input: Value = serde_json::from_slice(input).unwrap();
        let key = request_key(context["path"].as_str().unwrap(), &input);
        // Of equal requests the last result stands for all that follow.
        let answer = {
            let mut recorded = self.recorded.lock().unwrap();
            let results = recorded.get_mut(&key).expect("only recorded requests arrive");
            if results.len() > 1 { results.pop_front().unwrap() } else { results[0].clone() }
        };
        let (consumer, invocation_id) = (context["consumer"]["id"].clone(), context["invocationId"].clone());
        self.ran.lock().unwrap().push(Execution { consumer, invocation_id, answer: answer.clone() });
        let text = json!(answer).to_string();
        if self.patient {
            reply.defer().unwrap();
            return self.waiting.lock().unwrap().push((reply.clone(), text));
        }
        reply.json(text.as_bytes()).unwrap();
    }

    /// Approves two of three.
    fn decide(&self, surface: &Surface, event: &[u8]) {
        let event: Value = serde_json::from_slice(event).unwrap();
        if event["type"] != "confirmation-requested" {
            return;
        }
        let approved = {
            let mut questions = self.questions.lock().unwrap();
            *questions += 1;
            !questions.is_multiple_of(3)
        };
        let mut answers = self.answers.lock().unwrap();
        if approved {
            answers.0 += 1
        } else {
            answers.1 += 1
        }
        let decision = json!({"confirmationId": event["confirmationId"], "approved": approved});
        surface.confirm(decision.to_string().as_bytes()).unwrap();
    }
}

/// A surface that offers the tools as procedures, with `desk` behind it.
fn open(tools: &Value, steps: &[Step], desk: &Arc<Desk>) -> Surface {
    let limits = json!({"dedupeCacheSize": 1000, "maxPendingConfirmations": 1000, "maxInFlight": 1000});
    let surface = Surface::new(json!({ "limits": limits }).to_string().as_bytes(), HostHooks::default()).unwrap();
    let names: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    let executor = desk.clone();
    let execute = hook(move |reply, context, input| executor.execute(reply.unwrap(), context, input));
    surface.set_executor(json!(names).to_string().as_bytes(), execute).unwrap();
    let procedures: Vec<Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            json!({"path": tool["name"], "description": tool["description"], "effect": tool["effect"],
                "input": tool["parameters"], "concurrency": {"mode": "parallel", "max": 1000}})
        })
        .collect();
    let definition = json!({"type": "desk", "description": "The service desk", "procedures": procedures});
    surface.register(definition.to_string().as_bytes(), Vec::new()).unwrap();
    let (person, console) = (desk.clone(), surface.clone());
    surface.confirmation_subscribe(hook(move |_, event, _| person.decide(&console, event))).unwrap();
    for step in steps {
        let key = request_key(&step.name, &step.arguments);
        desk.recorded.lock().unwrap().entry(key).or_default().push_back(step.result.clone());
    }
    surface
}

fn consumer(conversation: usize, consumers: Consumers) -> String {
    match consumers {
        Consumers::OneForAll => "everybody".into(),
        Consumers::OneForEach => format!("conversation {conversation}"),
    }
}

fn toolsets(surface: &Surface, steps: &[Step], replay: Replay) -> Vec<Toolset> {
    let conversations = steps.iter().map(|step| step.conversation).max().unwrap_or(0) + 1;
    (0..conversations)
        .map(|conversation| {
            let consumer = json!({"id": consumer(conversation, replay.consumers), "kind": "embedded"});
            let options = json!({"topology": "embedded", "consumer": consumer, "toolCallIds": replay.ids});
            Toolset::new(surface, options.to_string().as_bytes()).unwrap()
        })
        .collect()
}

/// The call as the provider gives it.
fn as_recorded(step: &Step) -> Vec<u8> {
    let function = json!({"name": format!("domain_{}", step.name), "arguments": step.arguments.to_string()});
    json!({"id": step.tool_call_id, "type": "function", "function": function}).to_string().into_bytes()
}

/// Whether the result is one of this request, and its output the one that this very execution was answered with.
fn belongs(step: &Step, result: &Value, replay: Replay, ran: &[Execution]) -> bool {
    let request = json!({"capabilityId": format!("domain:{}", step.name), "input": step.arguments});
    let report = verify_result(result.to_string().as_bytes(), request.to_string().as_bytes()).unwrap();
    let bound = serde_json::from_str::<Value>(&report).unwrap()["valid"] == true;
    let own_id = replay.ids == "reused" || result["invocationId"] == step.tool_call_id.as_str();
    let consumer = consumer(step.conversation, replay.consumers);
    let own = |execution: &&Execution| {
        execution.consumer == consumer.as_str() && execution.invocation_id == result["invocationId"]
    };
    let executions: Vec<&Execution> = ran.iter().filter(own).collect();
    let own_output = match result["status"].as_str() {
        Some("ok") => executions.len() == 1 && result["output"] == executions[0].answer.as_str(),
        _ => result.get("output").is_none(),
    };
    bound && own_id && own_output
}

fn count(row: &mut Row, step: &Step, result: &Value, replay: Replay, ran: &[Execution]) {
    row.calls += 1;
    match result["error"]["code"].as_str() {
        Some("INVOCATION_CONFLICT") => row.conflicts += 1,
        Some("INVALID_INPUT") => row.refused += 1,
        Some("CONFIRMATION_INVALID") => assert_eq!(result["error"]["details"]["reason"], "denied"),
        None => {}
        other => panic!("{other:?} for {}", step.name),
    }
    if !belongs(step, result, replay, ran) {
        row.wrong += 1;
    }
}

/// One call after the other, as they were recorded. Every conflict is held against what was sent before.
fn replay(tools: &Value, steps: &[Step], replay: Replay) -> Row {
    let desk = Arc::new(Desk::default());
    let surface = open(tools, steps, &desk);
    let toolsets = toolsets(&surface, steps, replay);
    let mut row = Row::default();
    // What is on record under an id, as the provider sees ids.
    let mut on_record: HashMap<(String, &str), String> = HashMap::new();
    for step in steps {
        let before = desk.ran.lock().unwrap().len();
        let result = toolsets[step.conversation].call_wait(&as_recorded(step)).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        let ran = desk.ran.lock().unwrap();
        count(&mut row, step, &result, replay, &ran);
        let place = (consumer(step.conversation, replay.consumers), step.tool_call_id.as_str());
        let request = request_key(&step.name, &step.arguments);
        let reused = on_record.get(&place).is_some_and(|other| *other != request);
        assert_eq!(result["error"]["code"] == "INVOCATION_CONFLICT", replay.ids == "unique" && reused, "{result}");
        if result["status"] == "ok" && ran.len() == before {
            row.joined += 1;
        }
        let recorded =
            !matches!(result["error"]["code"].as_str(), Some("INVOCATION_CONFLICT" | "CONFIRMATION_INVALID"));
        if recorded {
            on_record.insert(place, request);
        }
    }
    finish(row, &desk, &surface)
}

/// Everything at once, answered from the last to the first: no order is left to lean on.
fn replay_at_once(tools: &Value, steps: &[Step]) -> Row {
    let desk = Arc::new(Desk { patient: true, ..Desk::default() });
    let surface = open(tools, steps, &desk);
    let replay = Replay { consumers: Consumers::OneForAll, ids: "reused" };
    let toolsets = toolsets(&surface, steps, replay);
    let start = |step: &Step| toolsets[step.conversation].call(&as_recorded(step), None).unwrap();
    let calls: Vec<Invocation> = steps.iter().map(start).collect();
    loop {
        surface.quiesce(-1).unwrap();
        let waiting = std::mem::take(&mut *desk.waiting.lock().unwrap());
        if waiting.is_empty() {
            break;
        }
        for (reply, answer) in waiting.into_iter().rev() {
            reply.json(answer.as_bytes()).unwrap();
        }
    }
    let mut row = Row::default();
    for (step, call) in steps.iter().zip(calls) {
        let result: Value = serde_json::from_slice(&call.wait(0).expect("nothing is left to wait for")).unwrap();
        count(&mut row, step, &result, replay, &desk.ran.lock().unwrap());
        row.joined += usize::from(result["status"] == "ok");
    }
    row.joined -= desk.ran.lock().unwrap().len();
    finish(row, &desk, &surface)
}

fn finish(mut row: Row, desk: &Desk, surface: &Surface) -> Row {
    surface.close(-1).unwrap();
    row.executed = desk.ran.lock().unwrap().len();
    (row.confirmed, row.denied) = *desk.answers.lock().unwrap();
    row
}

fn read(folder: &Path) -> (Value, Vec<Step>) {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut steps = Vec::new();
    for (conversation, line) in text("transcripts.jsonl").lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        for step in line["steps"].as_array().unwrap().iter().filter(|step| step.get("tool_call_id").is_some()) {
            let part = |name: &str| step[name].as_str().unwrap().to_owned();
            steps.push(Step {
                conversation,
                tool_call_id: part("tool_call_id"),
                name: part("name"),
                arguments: serde_json::from_str(step["arguments"].as_str().unwrap()).unwrap(),
                result: part("result"),
            });
        }
    }
    (serde_json::from_str(&text("tools.json")).unwrap(), steps)
}

/// Every replay of a folder. What must hold whatever was recorded is checked here.
fn rows(folder: &Path) -> Vec<Row> {
    let (tools, steps) = read(folder);
    let each = |ids| replay(&tools, &steps, Replay { consumers: Consumers::OneForEach, ids });
    let all = |ids| replay(&tools, &steps, Replay { consumers: Consumers::OneForAll, ids });
    let rows = vec![each("unique"), each("reused"), all("unique"), all("reused"), replay_at_once(&tools, &steps)];
    println!("calls executed joined conflicts confirmed denied refused wrong   in {}", folder.display());
    for row in &rows {
        println!(
            "{:5} {:8} {:6} {:9} {:9} {:6} {:7} {:5}",
            row.calls, row.executed, row.joined, row.conflicts, row.confirmed, row.denied, row.refused, row.wrong
        );
        assert_eq!((row.calls, row.wrong), (steps.len(), 0));
    }
    assert!(rows[1].conflicts == 0 && rows[3].conflicts == 0 && rows[4].conflicts == 0, "a reused id is no conflict");
    assert!(rows.iter().all(|row| row.confirmed > 0 && row.denied > 0), "a person was asked");
    rows
}

#[test]
fn the_sample_conversations() {
    let rows = rows(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/replay"));
    let expected = |executed, joined, conflicts, confirmed, denied, refused| Row {
        calls: 11,
        executed,
        joined,
        conflicts,
        confirmed,
        denied,
        refused,
        wrong: 0,
    };
    assert_eq!(rows[0], expected(7, 1, 1, 3, 1, 1));
    assert_eq!(rows[1], expected(8, 1, 0, 3, 1, 1));
}

#[test]
fn the_airline_conversations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/airline");
    if !folder.is_dir() {
        // Past the harness, which shows nothing of a test that passes.
        return writeln!(std::io::stderr(), "NOT TESTED HERE: ../shared/data/airline is not there.").unwrap();
    }
    let rows = rows(&folder);
    assert_eq!(rows[0].calls, 386);
    assert!(rows[0].conflicts > 0 && rows[2].conflicts > rows[0].conflicts);
}
