/* A device console that an agent may use, driven by a file of recorded agent calls.
 *
 *   fleet fleet-calls.jsonl
 *
 * Each line of the file is one call:
 *
 *   say       a heading for the account
 *   consumer  which agent calls: {id, kind, grants?}
 *   request   what it sends: {capabilityId, input?, invocationId, …}
 *   twice     the transport delivers the request a second time while the first still runs
 *   evidence  "last": the agent attaches the confirmation it was given last
 *   console   what the person at the console decides when asked: {approved, reason?, approver}
 *   meanwhile a call {consumer, request} that comes between the question and the decision
 *
 * At the end every result is held against its request, offline, as a third party would. */
#define _POSIX_C_SOURCE 200809L
#include <agent_surface.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "account.h"
#include "fleet_app.h"
#include "json.h"

#define MAX_RESULTS 64

typedef struct pair {
  text request, result;
} pair;

typedef struct session {
  as_registry surface;
  fleet *app;
  account account;
  text confirmation;          /* the last confirmationId that an agent was given */
  pair pairs[MAX_RESULTS];    /* every request with its result */
  int results;
  pthread_mutex_t lock;       /* for `joined`, which the event listener sets */
  pthread_cond_t heard;
  bool joined;
} session;

static void must(as_code code, const char *what, as_blob *err) {
  if (code == AS_OK) return;
  fprintf(stderr, "%s: %s %.*s\n", what, as_code_name(code), err ? (int)err->len : 0, err ? (const char *)err->ptr : "");
  exit(EXIT_FAILURE);
}

/* ---- one call -------------------------------------------------------------------------------------------------------- */

/* Keeps the result with its request; the view lives as long as the session. */
static view keep(session *s, view request, as_blob *result) {
  if (s->results == MAX_RESULTS) exit(EXIT_FAILURE);
  pair *p = &s->pairs[s->results++];
  text_add(&p->request, "%.*s", SHOW(request));
  text_add(&p->result, "%.*s", (int)result->len, (const char *)result->ptr);
  as_blob_free(result);
  return text_view(&p->result);
}

static view invoke(session *s, view request, view options) {
  as_blob result = {0}, err = {0};
  must(as_invoke_wait(s->surface, VIEW(request), VIEW(options), &result, &err), "invoke", &err);
  return keep(s, request, &result);
}

static void on_event(void *user_data, const uint8_t *event, size_t event_len) {
  session *s = user_data;
  if (!json_is(view_of_bytes(event, event_len), "type", "invocation-joined")) return;
  pthread_mutex_lock(&s->lock);
  s->joined = true;
  pthread_cond_signal(&s->heard);
  pthread_mutex_unlock(&s->lock);
}

/* The same request twice at once: the second joins the first, and the application is asked once. */
static view invoke_twice(session *s, view request, view options) {
  as_invocation calls[2] = {0};
  as_blob result = {0}, err = {0};
  view results[2];
  for (int i = 0; i < 2; i++)
    must(as_invoke(s->surface, VIEW(request), VIEW(options), NULL, &calls[i], &err), "invoke", &err);

  pthread_mutex_lock(&s->lock);
  while (!s->joined) pthread_cond_wait(&s->heard, &s->lock);
  s->joined = false;
  pthread_mutex_unlock(&s->lock);
  fleet_reports_arrive(s->app);

  for (int i = 0; i < 2; i++) {
    must(as_invocation_wait(calls[i], -1, &result, &err), "wait", &err);
    as_invocation_free(calls[i]);
    results[i] = keep(s, request, &result);
  }
  if (!view_equal(results[0], results[1])) must(AS_E_ARGUMENT, "two results for one call", NULL);
  return results[0];
}

static void tell(session *s, view result) {
  text deeds = {0};
  fleet_take_deeds(s->app, &deeds);
  account_result(&s->account, result, text_view(&deeds));
  text_free(&deeds);
}

/* The request with the confirmation attached. */
static void attach(text *out, view request, view confirmation) {
  text_add(out, "%.*s,\"confirmationId\":\"%.*s\"}", (int)request.len - 1, request.at, SHOW(confirmation));
}

static void call(session *s, view entry);

/* A person is asked, decides, and the agent sends the same call again with the confirmation. */
static view ask(session *s, view entry, view request, view options) {
  as_blob pending = {0}, err = {0};
  text decision = {0}, again = {0};
  view console = json_get(entry, "console"), meanwhile = json_get(entry, "meanwhile");

  must(as_confirmations(s->surface, &pending, &err), "confirmations", &err);
  account_question(json_get(view_of_bytes(pending.ptr, pending.len), "0"));
  as_blob_free(&pending);

  if (meanwhile.at) call(s, meanwhile);
  attach(&decision, console, text_view(&s->confirmation));
  must(as_confirm(s->surface, VIEW(text_view(&decision)), &err), "confirm", &err);
  account_decision(&s->account, console);

  attach(&again, request, text_view(&s->confirmation));
  view result = invoke(s, text_view(&again), options);
  text_free(&decision);
  text_free(&again);
  return result;
}

static void call(session *s, view entry) {
  view consumer = json_get(entry, "consumer"), request = json_get(entry, "request");
  text options = {0}, with_evidence = {0};
  text_add(&options, "{\"consumer\":%.*s}", SHOW(consumer));
  if (json_is(entry, "evidence", "last")) {
    attach(&with_evidence, request, text_view(&s->confirmation));
    request = text_view(&with_evidence);
  }

  account_call(&s->account, consumer, request);
  view result = json_true(entry, "twice") ? invoke_twice(s, request, text_view(&options))
                                          : invoke(s, request, text_view(&options));
  tell(s, result);

  if (json_is(result, "error.code", "CONFIRMATION_REQUIRED")) {
    text_free(&s->confirmation);
    text_add(&s->confirmation, "%.*s", SHOW(json_text(result, "error.details.confirmationId")));
    if (json_get(entry, "console").at) tell(s, ask(s, entry, request, text_view(&options)));
  }
  text_free(&options);
  text_free(&with_evidence);
}

/* ---- the whole file -------------------------------------------------------------------------------------------------- */

static void play(session *s, const char *path) {
  FILE *file = fopen(path, "r");
  char *raw = NULL;
  size_t room = 0;
  ssize_t len;
  if (!file) perror(path), exit(EXIT_FAILURE);
  while ((len = getline(&raw, &room, file)) > 0) {
    as_blob entry = {0}, err = {0};
    must(as_canonical_json((const uint8_t *)raw, (size_t)len, &entry, &err), path, &err);
    view call_entry = view_of_bytes(entry.ptr, entry.len);
    if (json_get(call_entry, "say").at) account_heading(json_text(call_entry, "say"));
    call(s, call_entry);
    as_blob_free(&entry);
  }
  free(raw);
  fclose(file);
}

/* ---- does every result belong to its request? ------------------------------------------------------------------------ */

static bool belongs(view result, view request) {
  static const char *KEYS[] = {"input", "invocationId"};
  text claim = {0};
  as_blob report = {0}, err = {0};
  text_add(&claim, "{\"capabilityId\":%.*s", SHOW(json_get(request, "capabilityId")));
  for (int i = 0; i < 2; i++) {
    view value = json_get(request, KEYS[i]);
    if (value.at) text_add(&claim, ",\"%s\":%.*s", KEYS[i], SHOW(value));
  }
  text_add(&claim, "}");
  must(as_verify_result(VIEW(result), VIEW(text_view(&claim)), &report, &err), "verify", &err);
  bool valid = json_true(view_of_bytes(report.ptr, report.len), "valid");
  as_blob_free(&report);
  text_free(&claim);
  return valid;
}

/* Each result against its own request, and against every other call's, which must not fit. */
static bool verify(session *s) {
  int own = 0, foreign = 0, compared = 0;
  for (int i = 0; i < s->results; i++) {
    view result = text_view(&s->pairs[i].result), request = text_view(&s->pairs[i].request);
    own += belongs(result, request);
    for (int j = 0; j < s->results; j++) {
      view other = text_view(&s->pairs[j].request);
      bool same_call = view_equal(json_get(request, "invocationId"), json_get(other, "invocationId")) &&
                       view_equal(json_get(request, "input"), json_get(other, "input"));
      if (!same_call) compared++, foreign += belongs(result, other);
    }
  }
  printf("%d of %d results belong to their request; of %d pairings with another call's request %d fit\n", own, s->results,
         compared, foreign);
  return own == s->results && foreign == 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s calls.jsonl\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (as_abi_version() != AS_ABI_VERSION) {
    fprintf(stderr, "built for ABI %d, the library has %u\n", AS_ABI_VERSION, (unsigned)as_abi_version());
    return EXIT_FAILURE;
  }
  session s = {.app = fleet_new(), .lock = PTHREAD_MUTEX_INITIALIZER, .heard = PTHREAD_COND_INITIALIZER};
  as_hooks_host console = fleet_console(s.app);
  as_hooks_event events = {.struct_size = sizeof events, .user_data = &s, .on_event = on_event};
  as_subscription subscription = 0;
  as_blob err = {0};

  must(as_registry_new(NULL, 0, &console, &s.surface, &err), "registry", &err);
  must(as_subscribe(s.surface, &events, &subscription, &err), "subscribe", &err);
  if (!fleet_offer(s.app, s.surface)) return EXIT_FAILURE;
  s.account.surface = s.surface;

  play(&s, argv[1]);
  account_end(&s.account);
  bool sound = verify(&s);

  must(as_registry_close(s.surface, -1, &err), "close", &err); /* after this no callback runs any more */
  as_registry_free(s.surface);
  for (int i = 0; i < s.results; i++) text_free(&s.pairs[i].request), text_free(&s.pairs[i].result);
  text_free(&s.confirmation);
  fleet_free(s.app);
  return sound ? EXIT_SUCCESS : EXIT_FAILURE;
}
