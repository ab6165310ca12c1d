//! Calls that the host answers at once, through `as_invoke_wait`.

use std::hint::black_box;

use crate::floor::Floor;
use crate::measure::{alternate, subject};
use crate::table::Row;
use crate::world::{AT_ONCE, INPUT_SCHEMA, World, component_type, definition, rows, select, unregister};

const FLOOR: &str = "the floor: parse, both digests, validate, write";
const ACTION_10: &str = "action, 10 registrations";
const ACTION_1000: &str = "action, 1,000 registrations";
const ACTION_10000: &str = "action, 10,000 registrations";
const ACTION_INSTANCES: &str = "action, 10,000 instances of one type";
const OBSERVATION: &str = "observation";
const POLICIES: &str = "action, two host policies (four decisions)";
const REGISTER: &str = "register and unregister, among 10";
const REGISTER_10000: &str = "register and unregister, among 10,000";

pub fn run() -> Vec<Row> {
    let floor = Floor::new(INPUT_SCHEMA);
    let [ten, thousand, ten_thousand] = [10, 1_000, 10_000].map(World::with_components);
    let instances = World::with_instances(10_000);
    let policed = World::new(r#"{"policies":["first","second"]}"#);
    let mut policed = policed;
    ["first", "second"].iter().for_each(|name| policed.define_policy(name));
    policed.register(&definition(&component_type(5), "main"), AT_ONCE);

    let action = select(&component_type(5));
    let one_instance = select(&component_type(0)).replace(r#","input""#, r#","instanceId":"i5","input""#);
    let observation = rows(&component_type(5));
    let newcomer = definition("bench.newcomer", "main");
    let come_and_go = |world: &World| unregister(world.add(&newcomer, AT_ONCE));

    let samples = alternate(
        1000,
        vec![
            subject(FLOOR, || drop(black_box(floor.call(black_box(&action))))),
            subject(ACTION_10, || ten.call(&action, "")),
            subject(ACTION_1000, || thousand.call(&action, "")),
            subject(ACTION_10000, || ten_thousand.call(&action, "")),
            subject(ACTION_INSTANCES, || instances.call(&one_instance, "")),
            subject(OBSERVATION, || ten.call(&observation, "")),
            subject(POLICIES, || policed.call(&action, "")),
            subject(REGISTER, || come_and_go(&ten)),
            subject(REGISTER_10000, || come_and_go(&ten_thousand)),
        ],
    );
    vec![
        Row::alone(&samples, FLOOR),
        Row::against(&samples, ACTION_10, FLOOR, Some(2.5)),
        Row::against(&samples, ACTION_1000, ACTION_10, None),
        Row::against(&samples, ACTION_10000, ACTION_10, Some(1.2)),
        Row::against(&samples, ACTION_INSTANCES, ACTION_10, Some(1.2)),
        Row::against(&samples, OBSERVATION, FLOOR, None),
        Row::against(&samples, POLICIES, ACTION_10, None),
        Row::alone(&samples, REGISTER),
        Row::against(&samples, REGISTER_10000, REGISTER, None),
    ]
}
