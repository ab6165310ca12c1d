#define _POSIX_C_SOURCE 200809L
#include "fleet_app.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DEVICES 6

typedef struct device {
  const char *id, *name, *site;
  bool enabled, selected;
} device;

/* Handlers may be called from any thread, so the application guards its state like any other. */
struct fleet {
  pthread_mutex_t lock;
  device devices[DEVICES];
  char site[16];           /* the filter; "" shows every site */
  as_registration table;   /* what of it an agent sees */
  as_reply reports_for;    /* the refresh that waits for reports; 0 when none does */
  pthread_cond_t asked;
  text deeds;
};

static const device FACTORY[DEVICES] = {
    {"d-1", "Reception tablet", "Berlin", true, false},    {"d-2", "Scanner A", "Hamburg", true, false},
    {"d-3", "Scanner B", "Hamburg", true, false},          {"d-4", "Lobby display", "Berlin", true, false},
    {"d-5", "Field phone 12", "road", true, false},        {"d-6", "Field phone 17", "road", true, false},
};

fleet *fleet_new(void) {
  fleet *app = calloc(1, sizeof *app);
  if (!app) abort();
  pthread_mutex_init(&app->lock, NULL);
  pthread_cond_init(&app->asked, NULL);
  memcpy(app->devices, FACTORY, sizeof FACTORY);
  return app;
}

void fleet_free(fleet *app) {
  as_unregister(app->table); /* a handle is its owner's, also when its registry is gone */
  pthread_cond_destroy(&app->asked);
  pthread_mutex_destroy(&app->lock);
  text_free(&app->deeds);
  free(app);
}

void fleet_take_deeds(fleet *app, text *out) {
  pthread_mutex_lock(&app->lock);
  if (app->deeds.len) text_add(out, "%s", app->deeds.at);
  text_free(&app->deeds);
  pthread_mutex_unlock(&app->lock);
}

/* ---- the table: its state, as JSON ---------------------------------------------------------------------------------- */

static bool shown(const fleet *app, const device *d) { return !*app->site || strcmp(app->site, d->site) == 0; }

static void add_ids(const fleet *app, text *out) {
  const char *comma = "";
  text_add(out, "{\"deviceIds\":[");
  for (const device *d = app->devices; d < app->devices + DEVICES; d++)
    if (d->selected) text_add(out, "%s\"%s\"", comma, d->id), comma = ",";
  text_add(out, "]}");
}

static int count_selected(const fleet *app) {
  int n = 0;
  for (int i = 0; i < DEVICES; i++) n += app->devices[i].selected;
  return n;
}

static device *find_shown(fleet *app, view id) {
  for (device *d = app->devices; d < app->devices + DEVICES; d++)
    if (shown(app, d) && view_equal(id, view_of(d->id))) return d;
  return NULL;
}

/* ---- observations: `read` answers with what the console shows ------------------------------------------------------- */

static void read_visible(void *user_data, as_reply reply, const uint8_t *context, size_t context_len,
                         const uint8_t *input, size_t input_len) {
  fleet *app = user_data;
  text out = {0};
  const char *comma = "";
  pthread_mutex_lock(&app->lock);
  text_add(&out, "{\"devices\":[");
  for (const device *d = app->devices; d < app->devices + DEVICES; d++)
    if (shown(app, d)) {
      text_add(&out, "%s{\"id\":\"%s\",\"name\":\"%s\",\"enabled\":%s}", comma, d->id, d->name,
               d->enabled ? "true" : "false");
      comma = ",";
    }
  text_add(&out, "]}");
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, VIEW(text_view(&out)));
  text_free(&out);
}

static void read_selection(void *user_data, as_reply reply, const uint8_t *context, size_t context_len,
                           const uint8_t *input, size_t input_len) {
  fleet *app = user_data;
  text out = {0};
  pthread_mutex_lock(&app->lock);
  add_ids(app, &out);
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, VIEW(text_view(&out)));
  text_free(&out);
}

/* ---- actions: the input has passed its schema, so a handler may rely on it ------------------------------------------ */

static void set_filter(void *user_data, as_reply reply, const uint8_t *context, size_t context_len,
                       const uint8_t *input, size_t input_len) {
  fleet *app = user_data;
  view site = json_text(view_of_bytes(input, input_len), "site");
  pthread_mutex_lock(&app->lock);
  snprintf(app->site, sizeof app->site, "%.*s", SHOW(site));
  text_add(&app->deeds, "filtered by %s\n", *app->site ? app->site : "nothing");
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, NULL, 0); /* done, nothing to tell */
}

/* What is impossible for the moment stays in the catalog, with a reason that an agent can plan on. */
static void tell_availability(fleet *app) {
  pthread_mutex_lock(&app->lock);
  bool possible = count_selected(app) > 0;
  pthread_mutex_unlock(&app->lock);
  as_registration_update(
      app->table,
      TEXT(possible ? "{\"availability\":{\"domain:devices.disable\":{\"available\":true}}}"
                    : "{\"availability\":{\"domain:devices.disable\":{\"available\":false,\"reason\":\"Select the devices first.\"}}}"),
      NULL);
}

/* Selects all of the given devices or none. */
static void select_devices(void *user_data, as_reply reply, const uint8_t *context, size_t context_len,
                           const uint8_t *input, size_t input_len) {
  fleet *app = user_data;
  view ids = json_get(view_of_bytes(input, input_len), "deviceIds"), id = {0};
  text answer = {0};
  bool all_shown = true;
  pthread_mutex_lock(&app->lock);
  while (all_shown && json_next(ids, &id)) all_shown = find_shown(app, json_text(id, "")) != NULL;
  if (all_shown) {
    for (int i = 0; i < DEVICES; i++) app->devices[i].selected = false;
    for (id = (view){0}; json_next(ids, &id);) find_shown(app, json_text(id, ""))->selected = true;
    add_ids(app, &answer);
    text_add(&app->deeds, "selected %.*s\n", SHOW(ids));
  }
  pthread_mutex_unlock(&app->lock);
  tell_availability(app);
  if (all_shown)
    as_reply_json(reply, VIEW(text_view(&answer)));
  else /* a typed failure: the agent learns what it can do about it */
    as_reply_error(reply, TEXT("{\"code\":\"PRECONDITION_FAILED\",\"retry\":\"with-changes\","
                               "\"message\":\"Select only devices that the table shows. Read `visible` first.\"}"));
  text_free(&answer);
}

/* The devices answer when they like; until then the call pends and holds no thread. */
static void refresh(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input,
                    size_t input_len) {
  fleet *app = user_data;
  as_reply_defer(reply); /* before anybody else can see the reply */
  pthread_mutex_lock(&app->lock);
  app->reports_for = reply;
  text_add(&app->deeds, "asked every device for a report\n");
  pthread_cond_signal(&app->asked);
  pthread_mutex_unlock(&app->lock);
}

void fleet_reports_arrive(fleet *app) {
  pthread_mutex_lock(&app->lock);
  while (!app->reports_for) pthread_cond_wait(&app->asked, &app->lock);
  as_reply reply = app->reports_for;
  app->reports_for = 0;
  text_add(&app->deeds, "received %d reports\n", DEVICES);
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, TEXT("{\"reports\":6}"));
}

/* ---- the procedure: disabling devices, bound to what the operator sees selected ------------------------------------- */

/* `bind` fills the fields that an agent may not choose: the devices are those selected on the screen. */
static void bind_selection(void *user_data, as_reply reply, const uint8_t *context, size_t context_len) {
  read_selection(user_data, reply, context, context_len, NULL, 0);
}

/* A note for the catalog that moves with the screen. */
static void describe_selection(void *user_data, as_reply reply, const uint8_t *context, size_t context_len) {
  fleet *app = user_data;
  text note = {0};
  pthread_mutex_lock(&app->lock);
  text_add(&note, "\"%d selected\"", count_selected(app));
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, VIEW(text_view(&note)));
  text_free(&note);
}

/* The executor runs procedures. It gets the effective input: what the agent said together with what was bound. */
static void execute(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input,
                    size_t input_len) {
  fleet *app = user_data;
  view given = view_of_bytes(input, input_len), ids = json_get(given, "deviceIds"), id = {0};
  text answer = {0};
  pthread_mutex_lock(&app->lock);
  for (device *d = app->devices; d < app->devices + DEVICES; d++)
    for (id = (view){0}; json_next(ids, &id);)
      if (view_equal(json_text(id, ""), view_of(d->id))) d->enabled = false;
  text_add(&app->deeds, "DISABLED %.*s, reason: %.*s\n", SHOW(ids), SHOW(json_text(given, "reason")));
  text_add(&answer, "{\"disabled\":%.*s}", SHOW(ids));
  pthread_mutex_unlock(&app->lock);
  as_reply_json(reply, VIEW(text_view(&answer)));
  text_free(&answer);
}

/* A policy of the host's own: only agents that were granted it learn that devices can be disabled. */
static void hide_from_strangers(void *user_data, as_reply reply, const uint8_t *context, size_t context_len) {
  view grants = json_get(view_of_bytes(context, context_len), "consumer.grants"), grant = {0};
  bool granted = false;
  while (json_next(grants, &grant)) granted = granted || json_is(grant, "", "fleet.disable");
  as_reply_json(reply, TEXT(granted ? "{\"decision\":\"expose\"}" : "{\"decision\":\"hide\"}"));
}

/* ---- what of all this an agent may see ------------------------------------------------------------------------------ */

#define IDS "{\"type\":\"array\",\"minItems\":1,\"uniqueItems\":true,\"items\":{\"type\":\"string\",\"pattern\":\"^d-[0-9]+$\"}}"

static const char TABLE[] =
    "{\"type\":\"devices.table\",\"instanceId\":\"main\",\"description\":\"The table of devices on the console\","
    " \"observations\":{"
    "  \"visible\":{\"description\":\"The devices that pass the filter\",\"output\":{\"type\":\"object\",\"required\":[\"devices\"],"
    "   \"properties\":{\"devices\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}},"
    "  \"selection\":{\"description\":\"The devices that are selected\",\"output\":{\"type\":\"object\",\"required\":[\"deviceIds\"],"
    "   \"properties\":{\"deviceIds\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}}},"
    " \"actions\":{"
    "  \"setFilter\":{\"description\":\"Show one site only, or every site\",\"effect\":\"local-state\",\"idempotent\":true,"
    "   \"input\":{\"type\":\"object\",\"additionalProperties\":false,"
    "    \"properties\":{\"site\":{\"enum\":[\"Berlin\",\"Hamburg\",\"road\"]}}}},"
    "  \"select\":{\"description\":\"Select devices that the table shows\",\"effect\":\"local-state\",\"idempotent\":true,"
    "   \"input\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"deviceIds\"],\"properties\":{\"deviceIds\":" IDS "}}},"
    "  \"refresh\":{\"description\":\"Ask every device for a report\",\"effect\":\"local-state\","
    "   \"input\":{\"type\":\"object\",\"additionalProperties\":false}}},"
    " \"procedures\":[{"
    "  \"path\":\"devices.disable\",\"description\":\"Disable the selected devices\",\"effect\":\"destructive\","
    "  \"boundFields\":[\"deviceIds\"],"
    "  \"policies\":[\"granted-only\",{\"use\":\"hasPermission\",\"permission\":\"devices.disable\"}],"
    "  \"input\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"deviceIds\",\"reason\"],"
    "   \"properties\":{\"deviceIds\":" IDS ",\"reason\":{\"type\":\"string\",\"minLength\":3,\"maxLength\":120}}}}]}";

static as_binding handler(fleet *app, const char *name, as_fn_handler function) {
  return (as_binding){.struct_size = sizeof(as_binding),
                      .name = (const uint8_t *)name,
                      .name_len = strlen(name),
                      .user_data = app,
                      .handler = function};
}

bool fleet_offer(fleet *app, as_registry surface) {
  as_hooks_policy granted_only = {
      .struct_size = sizeof granted_only, .user_data = app, .on_discovery = hide_from_strangers};
  as_hooks_handler executor = {.struct_size = sizeof executor, .user_data = app, .handler = execute};
  as_binding disable = {.struct_size = sizeof disable,
                        .name = (const uint8_t *)"domain:devices.disable",
                        .name_len = strlen("domain:devices.disable"),
                        .user_data = app,
                        .bind = bind_selection,
                        .describe = describe_selection};
  as_binding bindings[] = {handler(app, "visible", read_visible), handler(app, "selection", read_selection),
                           handler(app, "setFilter", set_filter), handler(app, "select", select_devices),
                           handler(app, "refresh", refresh),      disable};
  as_blob err = {0};
  as_code code = as_policy_define(surface, TEXT("granted-only"), &granted_only, &err);
  if (code == AS_OK) code = as_executor_set(surface, TEXT("[\"devices.disable\"]"), &executor, &err);
  if (code == AS_OK)
    code = as_register(surface, TEXT(TABLE), bindings, sizeof bindings / sizeof *bindings, &app->table, &err);
  if (code != AS_OK) fprintf(stderr, "%s: %.*s\n", as_code_name(code), (int)err.len, (const char *)err.ptr);
  as_blob_free(&err);
  if (code == AS_OK) tell_availability(app);
  return code == AS_OK;
}

/* ---- the console itself --------------------------------------------------------------------------------------------- */

/* Who sits at the console and what that person may do: policies read it. */
static void who_is_there(void *user_data, as_reply reply, const uint8_t *context, size_t context_len) {
  as_reply_json(reply, TEXT("{\"user\":{\"name\":\"mara\"},\"permissions\":[\"devices.disable\"]}"));
}

as_hooks_host fleet_console(fleet *app) {
  return (as_hooks_host){.struct_size = sizeof(as_hooks_host), .user_data = app, .context = who_is_there};
}
