/* Recorded conversations of a model, replayed through a toolset.
 *
 *   replay DIR
 *
 * DIR holds
 *   tools.json          [{name, description, effect, parameters}]
 *   transcripts.jsonl   one conversation a line: {conversation, steps: [{user} or {tool_call_id, name, arguments, result}]}
 *
 * The tools are registered as procedures; the application behind them answers with what was recorded. A person at the
 * console agrees to two questions of three. Every conversation is replayed call by call, with a consumer of its own and
 * with one for all, with tool-call ids that are unique and with ids that are used again; and every result is held against
 * the request that it answers, offline, as a third party would. */
#define _POSIX_C_SOURCE 200809L
#include <agent_surface.h>
#include <stdio.h>
#include <stdlib.h>

#include "../json.h"

typedef struct recorded {
  text id, name, arguments, result; /* JSON strings as they stand in the file; `arguments` and `result` hold text */
  text input;                       /* the arguments as a document */
  int conversation;
} recorded;

typedef struct desk {
  as_registry surface;
  recorded *calls;
  size_t n, room;
  const recorded *now; /* the call under way */
  int executed, questions, agreed, denied;
} desk;

typedef struct row {
  int calls, joined, conflicts, refused, wrong;
} row;

static void must(as_code code, const char *what, as_blob *err) {
  if (code == AS_OK) return;
  fprintf(stderr, "%s: %s %.*s\n", what, as_code_name(code), err ? (int)err->len : 0, err ? (const char *)err->ptr : "");
  exit(EXIT_FAILURE);
}

static view blob_view(const as_blob *b) { return view_of_bytes(b->ptr, b->len); }

/* ---- the file -------------------------------------------------------------------------------------------------------- */

/* A JSON string of a canonical document as the text it stands for. */
static void add_unescaped(text *out, view string) {
  static const char ESCAPES[] = "b\bf\fn\nr\rt\t";
  for (size_t i = 1; i + 1 < string.len; i++) {
    char c = string.at[i];
    if (c == '\\') {
      c = string.at[++i];
      const char *known = strchr(ESCAPES, c);
      if (c == 'u') {
        char hex[5] = {0};
        memcpy(hex, string.at + i + 1, 4); /* canonical text escapes control characters alone */
        c = (char)strtol(hex, NULL, 16);
        i += 4;
      } else if (known) {
        c = known[1];
      }
    }
    text_add(out, "%c", c);
  }
}

static void keep(desk *d, int conversation, view step) {
  if (d->n == d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->calls = realloc(d->calls, d->room * sizeof *d->calls);
    if (!d->calls) abort();
  }
  recorded *r = &d->calls[d->n++];
  *r = (recorded){.conversation = conversation};
  text_add(&r->id, "%.*s", SHOW(json_get(step, "tool_call_id")));
  text_add(&r->name, "%.*s", SHOW(json_text(step, "name")));
  text_add(&r->arguments, "%.*s", SHOW(json_get(step, "arguments")));
  text_add(&r->result, "%.*s", SHOW(json_get(step, "result")));
  add_unescaped(&r->input, json_get(step, "arguments"));
}

static void read_transcripts(desk *d, const char *path) {
  FILE *file = fopen(path, "r");
  char *raw = NULL;
  size_t room = 0;
  ssize_t len;
  if (!file) perror(path), exit(EXIT_FAILURE);
  for (int conversation = 0; (len = getline(&raw, &room, file)) > 0; conversation++) {
    as_blob line = {0}, err = {0};
    view step = {0};
    must(as_canonical_json((const uint8_t *)raw, (size_t)len, &line, &err), path, &err);
    while (json_next(json_get(blob_view(&line), "steps"), &step))
      if (json_get(step, "tool_call_id").at) keep(d, conversation, step);
    as_blob_free(&line);
  }
  free(raw);
  fclose(file);
}

static void read_tools(const char *path, as_blob *tools) {
  FILE *file = fopen(path, "r");
  text all = {0};
  char piece[4096];
  as_blob err = {0};
  if (!file) perror(path), exit(EXIT_FAILURE);
  while (fgets(piece, sizeof piece, file)) text_add(&all, "%s", piece);
  fclose(file);
  must(as_canonical_json(VIEW(text_view(&all)), tools, &err), path, &err);
  text_free(&all);
}

/* ---- the application, and the person ----------------------------------------------------------------------------------- */

static void execute(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input,
                    size_t input_len) {
  desk *d = user_data;
  d->executed++;
  as_reply_json(reply, VIEW(text_view(&d->now->result)));
}

static void on_question(void *user_data, const uint8_t *event, size_t event_len) {
  desk *d = user_data;
  view asked = view_of_bytes(event, event_len);
  text decision = {0};
  as_blob err = {0};
  if (!json_is(asked, "type", "confirmation-requested")) return;
  bool agrees = ++d->questions % 3 != 0;
  agrees ? d->agreed++ : d->denied++;
  text_add(&decision, "{\"confirmationId\":%.*s,\"approved\":%s,\"approver\":\"console\"}",
           SHOW(json_get(asked, "confirmationId")), agrees ? "true" : "false");
  must(as_confirm(d->surface, VIEW(text_view(&decision)), &err), "confirm", &err);
  text_free(&decision);
}

/* The tools as procedures of one component. */
static void offer(desk *d, view tools, as_registration *registration) {
  as_hooks_handler executor = {.struct_size = sizeof executor, .user_data = d, .handler = execute};
  text paths = {0}, definition = {0};
  const char *comma = "";
  as_blob err = {0};
  view tool = {0};

  text_add(&paths, "[");
  text_add(&definition, "{\"type\":\"desk\",\"description\":\"The service desk\",\"procedures\":[");
  while (json_next(tools, &tool)) {
    text_add(&paths, "%s%.*s", comma, SHOW(json_get(tool, "name")));
    text_add(&definition, "%s{\"path\":%.*s,\"description\":%.*s,\"effect\":%.*s,\"input\":%.*s}", comma,
             SHOW(json_get(tool, "name")), SHOW(json_get(tool, "description")), SHOW(json_get(tool, "effect")),
             SHOW(json_get(tool, "parameters")));
    comma = ",";
  }
  text_add(&paths, "]");
  text_add(&definition, "]}");
  must(as_executor_set(d->surface, VIEW(text_view(&paths)), &executor, &err), "executor", &err);
  must(as_register(d->surface, VIEW(text_view(&definition)), NULL, 0, registration, &err), "register", &err);
  text_free(&paths);
  text_free(&definition);
}

/* ---- one replay ------------------------------------------------------------------------------------------------------ */

static as_toolset new_toolset(desk *d, int conversation, bool one_for_all, const char *ids) {
  text options = {0};
  as_toolset toolset = 0;
  as_blob err = {0};
  text_add(&options, "{\"topology\":\"embedded\",\"toolCallIds\":\"%s\",\"consumer\":{\"kind\":\"embedded\",\"id\":\"c%d\"}}", ids,
           one_for_all ? 0 : conversation);
  must(as_toolset_new(d->surface, VIEW(text_view(&options)), &toolset, &err), "toolset", &err);
  text_free(&options);
  return toolset;
}

/* Whether the result belongs to the call: by the digests, and by what the application answered. */
static bool belongs(const recorded *call, view result, bool ran) {
  text claim = {0};
  as_blob report = {0}, err = {0};
  text_add(&claim, "{\"capabilityId\":\"domain:%s\",\"input\":%s}", call->name.at, call->input.at);
  must(as_verify_result(VIEW(result), VIEW(text_view(&claim)), &report, &err), "verify", &err);
  bool valid = json_true(blob_view(&report), "valid");
  as_blob_free(&report);
  text_free(&claim);
  view output = json_get(result, "output");
  return valid && (!ran || !output.at || view_equal(output, text_view(&call->result)));
}

/* The call as the provider gave it, through the toolset, and its result. */
static void replay_call(desk *d, as_toolset toolset, const recorded *call, row *r) {
  text tool_call = {0};
  as_blob result = {0}, message = {0}, err = {0};
  int before = d->executed;
  d->now = call;
  text_add(&tool_call, "{\"id\":%s,\"type\":\"function\",\"function\":{\"name\":\"domain_%s\",\"arguments\":%s}}", call->id.at,
           call->name.at, call->arguments.at);
  must(as_toolset_call_wait(toolset, VIEW(text_view(&tool_call)), &result, &err), "call", &err);
  must(as_toolset_render(toolset, TEXT("openai"), result.ptr, result.len, &message, &err), "render", &err);

  view told = blob_view(&result);
  bool ran = d->executed > before;
  r->calls++;
  r->joined += json_is(told, "status", "ok") && !ran;
  r->conflicts += json_is(told, "error.code", "INVOCATION_CONFLICT");
  r->refused += json_is(told, "error.code", "INVALID_INPUT");
  /* What goes back to the provider must answer the id that it gave. */
  bool answered = view_equal(json_get(blob_view(&message), "tool_call_id"), text_view(&call->id));
  r->wrong += !belongs(call, told, ran) || !answered;
  as_blob_free(&message);
  as_blob_free(&result);
  text_free(&tool_call);
}

static bool replay(desk *d, view tools, bool one_for_all, const char *ids) {
  static const char CONFIG[] = "{\"limits\":{\"dedupeCacheSize\":100000}}";
  as_hooks_event console = {.struct_size = sizeof console, .user_data = d, .on_event = on_question};
  as_subscription subscription = 0;
  as_registration registration = 0;
  as_toolset toolset = 0;
  as_blob err = {0};
  row r = {0};

  d->executed = d->questions = d->agreed = d->denied = 0;
  must(as_registry_new(TEXT(CONFIG), NULL, &d->surface, &err), "registry", &err);
  offer(d, tools, &registration);
  must(as_confirmation_subscribe(d->surface, &console, &subscription, &err), "console", &err);
  for (size_t i = 0; i < d->n; i++) {
    if (i == 0 || d->calls[i].conversation != d->calls[i - 1].conversation) {
      as_toolset_free(toolset);
      toolset = new_toolset(d, d->calls[i].conversation, one_for_all, ids);
    }
    replay_call(d, toolset, &d->calls[i], &r);
  }
  as_toolset_free(toolset);
  must(as_registry_close(d->surface, -1, &err), "close", &err);
  as_registry_free(d->surface);
  as_unregister(registration);
  as_unsubscribe(subscription);

  printf("%-10s %-7s %6d %9d %7d %10d %10d %7d %18d %19d\n", one_for_all ? "one" : "each its", ids, r.calls, d->executed,
         r.joined, r.conflicts, d->agreed, d->denied, r.refused, r.wrong);
  return r.wrong == 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DIR\n", argv[0]);
    return EXIT_FAILURE;
  }
  desk d = {0};
  text path = {0};
  as_blob tools = {0};
  bool sound = true;

  text_add(&path, "%s/tools.json", argv[1]);
  read_tools(path.at, &tools);
  text_free(&path);
  text_add(&path, "%s/transcripts.jsonl", argv[1]);
  read_transcripts(&d, path.at);
  text_free(&path);

  printf("%-10s %-7s %6s %9s %7s %10s %10s %7s %18s %19s\n", "consumer", "ids", "calls", "executed", "joined", "conflicts",
         "confirmed", "denied", "refused by schema", "wrong associations");
  for (int one_for_all = 0; one_for_all < 2; one_for_all++) {
    sound &= replay(&d, blob_view(&tools), one_for_all, "unique");
    sound &= replay(&d, blob_view(&tools), one_for_all, "reused");
  }

  for (size_t i = 0; i < d.n; i++) {
    recorded *r = &d.calls[i];
    text *texts[] = {&r->id, &r->name, &r->arguments, &r->result, &r->input};
    for (int t = 0; t < 5; t++) text_free(texts[t]);
  }
  free(d.calls);
  as_blob_free(&tools);
  return sound ? EXIT_SUCCESS : EXIT_FAILURE;
}
