//! The least that any honest implementation does for one call: read the request, digest it as issued and as it would
//! run, hold it against its schema, write the result. No registry, no policy, no record, no lock.

use agent_surface::json::{self, Bounds, Value};
use agent_surface::model::writer::ObjectWriter;
use agent_surface::schema::Schema;

const BOUNDS: Bounds = Bounds { bytes: 1 << 20, depth: 64 };

pub struct Floor {
    schema: Schema,
}

impl Floor {
    pub fn new(schema: &str) -> Floor {
        let schema = json::parse(schema.as_bytes(), &BOUNDS).expect("JSON");
        Floor { schema: Schema::compile(&schema, "").expect("a schema of the subset") }
    }

    pub fn call(&self, request: &str) -> Vec<u8> {
        let request = json::parse(request.as_bytes(), &BOUNDS).expect("JSON");
        let id = request.get("capabilityId").and_then(Value::as_str).expect("an id");
        let input = request.get("input").expect("an input");
        let issued = json::request_digest(id, input);
        self.schema.validate(input).expect("valid");
        let effective = json::request_digest(id, input);
        let mut out = ObjectWriter::with_capacity(512);
        out.string("status", "ok");
        out.string("invocationId", "inv_0123456789012345678901");
        out.string("capabilityId", id);
        out.string("registrationId", "reg_1_0123456789012345678901");
        out.string("instanceId", "main");
        out.string("issuedDigest", &issued);
        out.string("requestDigest", &effective);
        out.string("surfaceVersion", "1");
        out.into_bytes()
    }
}
