/* Definitions that are refused: the reason, the path, nothing registered, every callback table destroyed. */
#include "check.h"

#define ACTION(fields) "{\"type\":\"t\",\"description\":\"A thing\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\"," fields "}}}"
#define INPUT "\"input\":{\"type\":\"object\"}"

static void surface_is_untouched(as_registry registry, const char *version) {
  as_blob info = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_registry_info(registry, &info, NULL));
  CHECK_HAS(&info, version);
  CHECK_HAS(&info, "\"registrations\":0");
  as_blob_free(&info);
}

/* AS-ID-001, AS-SCHEMA-001: what is wrong with a definition is said with its reason and its place. */
TEST(every_reason_with_its_path) {
  static const struct {
    const char *definition, *reason, *path;
  } wrong[] = {
      {"{\"type\":\"T\",\"description\":\"d\"}", "INVALID_ID", "/type"},
      {"{\"type\":\"t\",\"instanceId\":\"a b\",\"description\":\"d\"}", "INVALID_ID", "/instanceId"},
      {"{\"type\":\"t\"}", "INVALID_DEFINITION", "/description"},
      {"{\"type\":\"t\",\"description\":\"d\",\"colour\":1}", "INVALID_DEFINITION", "/colour"},
      {"{\"type\":\"t\",\"description\":7}", "INVALID_DEFINITION", "/description"},
      {"{\"type\":\"t\",\"description\":\"d\",\"policies\":[\"nobody\"]}", "INVALID_DEFINITION", "/policies/0"},
      {ACTION("\"input\":{\"type\":\"object\",\"$comment\":\"x\"}"), "UNSUPPORTED_SCHEMA", "/actions/go/input/$comment"},
      {ACTION("\"input\":{\"properties\":{\"a\":{\"oneOf\":[]}}}"), "UNSUPPORTED_SCHEMA", "/actions/go/input/properties/a/oneOf"},
      {ACTION("\"input\":{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}"), "UNSUPPORTED_SCHEMA", "/actions/go/input"},
      {ACTION("\"input\":{\"pattern\":\"(a\"}"), "UNSUPPORTED_SCHEMA", "/actions/go/input/pattern"},
      {"{\"type\":\"t\",\"description\":\"d\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"destructive\"," INPUT "}}}", "PLANE_VIOLATION",
       "/actions/go/effect"},
      {"{\"type\":\"t\",\"description\":\"d\",\"procedures\":[{\"path\":\"a\",\"description\":\"A\",\"effect\":\"server-query\"," INPUT "}]}",
       "PLANE_VIOLATION", "/procedures/0"},
      {"{\"type\":\"t\",\"description\":\"d\",\"observations\":{\"go\":{\"description\":\"Go\",\"output\":{}}},"
       "\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\"," INPUT "}}}",
       "DUPLICATE_CAPABILITY", "/go"},
  };
  as_registry registry = world();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    probe p = {0};
    as_binding go = binding(&p, "go", answer_null);
    size_t bound = strstr(wrong[i].definition, "\"go\"") ? 1 : 0;
    as_registration registration = 1;
    as_blob err = EMPTY_BLOB;
    CHECK_CODE(AS_E_DEFINITION, as_register(registry, TEXT(wrong[i].definition), &go, bound, &registration, &err));
    CHECK_HAS(&err, wrong[i].reason);
    CHECK_HAS(&err, wrong[i].path);
    as_blob_free(&err);
    CHECK(registration == 0);
    CHECK(probe_destroyed(&p) == (int)bound);
    CHECK(probe_calls(&p) == 0);
  }
  surface_is_untouched(registry, "\"surfaceVersion\":\"0\"");
  world_ends(registry);
}

TEST(descriptions_and_schemas_that_are_too_long) {
  char definition[2048];
  as_registry registry = world();
  as_registration registration = 0;
  strcpy(definition, "{\"type\":\"t\",\"description\":\"");
  size_t start = strlen(definition);
  memset(definition + start, 'x', 501);
  strcpy(definition + start + 501, "\"}");
  REFUSED(AS_E_DEFINITION, "LIMIT_EXCEEDED", as_register(registry, TEXT(definition), NULL, 0, &registration, &err));
  REFUSED(AS_E_DEFINITION, "\"path\":\"/description\"", as_register(registry, TEXT(definition), NULL, 0, &registration, &err));
  surface_is_untouched(registry, "\"surfaceVersion\":\"0\"");
  world_ends(registry);
}

TEST(bindings_that_are_missing_or_match_nothing) {
  probe p = {0};
  as_registry registry = world();
  as_registration registration = 0;
  as_binding none = binding(&p, "gone", answer_null), half = binding(&p, "go", NULL);
  as_binding twice[2] = {binding(&p, "go", answer_null), binding(&p, "go", answer_null)};
  as_binding nameless = binding(&p, "go", answer_null);
  REFUSED(AS_E_DEFINITION, "INVALID_DEFINITION", as_register(registry, TEXT(GO), NULL, 0, &registration, &err));
  REFUSED(AS_E_DEFINITION, "INVALID_DEFINITION", as_register(registry, TEXT(GO), &none, 1, &registration, &err));
  REFUSED(AS_E_DEFINITION, "INVALID_DEFINITION", as_register(registry, TEXT(GO), &half, 1, &registration, &err));
  REFUSED(AS_E_DEFINITION, "INVALID_DEFINITION", as_register(registry, TEXT(GO), twice, 2, &registration, &err));
  nameless.name = NULL; /* with a length */
  REFUSED(AS_E_ARGUMENT, "name", as_register(registry, TEXT(GO), &nameless, 1, &registration, &err));
  CHECK(probe_destroyed(&p) == 5);
  CHECK(registration == 0);
  surface_is_untouched(registry, "\"surfaceVersion\":\"0\"");
  world_ends(registry);
}

/* AS-LIFE-001: after all those refusals the same definition, mended, is live at once. */
TEST(a_mended_definition_registers) {
  probe refused = {0}, p = {0};
  as_registry registry = world();
  as_registration registration = 0;
  as_binding go = binding(&refused, "go", answer_null);
  REFUSED(AS_E_DEFINITION, "", as_register(registry, TEXT(ACTION("\"input\":{\"not\":{}}")), &go, 1, &registration, &err));
  go = binding(&p, "go", answer_null);
  world_register(registry, GO, &go, 1);
  GO_GIVES(registry, "\"status\":\"ok\"");
  CHECK(probe_calls(&p) == 1);
  CHECK(probe_calls(&refused) == 0);
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 1);
  CHECK(probe_destroyed(&refused) == 1);
}

/* AS-LIFE-003: a duplicate gets a dead handle that knows why. */
TEST(a_rejected_registration_has_a_dead_handle) {
  probe p = {0}, q = {0};
  as_registry registry = world_with(&p, answer_null);
  as_binding go = binding(&q, "go", answer_null);
  as_registration rejected = world_register(registry, GO, &go, 1);
  as_blob info = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_registration_info(rejected, &info, NULL));
  CHECK_HAS(&info, "\"status\":\"rejected\"");
  as_blob_free(&info);
  CHECK(probe_destroyed(&q) == 1);
  CHECK_CODE(AS_E_CLOSED, as_registration_update(rejected, TEXT("{\"enabled\":false}"), NULL));
  go = binding(&q, "go", answer_null);
  CHECK_CODE(AS_E_CLOSED, as_registration_rebind(rejected, &go, 1, NULL));
  CHECK(probe_destroyed(&q) == 2);
  CHECK_CODE(AS_E_CLOSED, as_registration_invalidate(rejected));
  GO_GIVES(registry, "\"status\":\"ok\"");
  CHECK(probe_calls(&p) == 1);
  CHECK(probe_calls(&q) == 0);
  world_ends(registry);
}

TEST(patches_that_are_refused_change_nothing) {
  probe p = {0};
  as_registry registry = world_with(&p, answer_null);
  REFUSED(AS_E_ARGUMENT, "/colour", as_registration_update(p.registration, TEXT("{\"colour\":1}"), &err));
  REFUSED(AS_E_ARGUMENT, "/enabled", as_registration_update(p.registration, TEXT("{\"enabled\":1}"), &err));
  REFUSED(AS_E_ARGUMENT, "/availability/gone",
          as_registration_update(p.registration, TEXT("{\"enabled\":false,\"availability\":{\"gone\":{\"available\":false}}}"), &err));
  GO_GIVES(registry, "\"status\":\"ok\"");
  GO_GIVES(registry, "\"surfaceVersion\":\"1\"");
  world_ends(registry);
}

SUITE(definitions, CASE(every_reason_with_its_path), CASE(descriptions_and_schemas_that_are_too_long),
      CASE(bindings_that_are_missing_or_match_nothing), CASE(a_mended_definition_registers),
      CASE(a_rejected_registration_has_a_dead_handle), CASE(patches_that_are_refused_change_nothing));
