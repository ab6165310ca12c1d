#include "account.h"

#include <stdio.h>
#include <stdlib.h>

#define WIDTH 96 /* longer documents are cut, with a mark */

static void line(const char *label, view what) {
  bool cut = what.len > WIDTH;
  if (cut) what.len = WIDTH;
  while (cut && what.len && ((unsigned char)what.at[what.len] & 0xC0) == 0x80) what.len--; /* not inside a character */
  printf("      %-9s %.*s%s\n", label, SHOW(what), cut ? "…" : "");
}

void account_heading(view say) { printf("\n── %.*s\n", SHOW(say)); }

void account_call(account *a, view consumer, view request) {
  view input = json_get(request, "input");
  printf("%4d  %.*s → %.*s\n", ++a->calls, SHOW(json_text(consumer, "id")), SHOW(json_text(request, "capabilityId")));
  if (input.at) line("input", input);
}

/* Whether the audit trail tells of such an entry for this call since it was read last. */
static bool audited(view trail, view invocation, const char *type) {
  view entry = {0};
  while (json_next(trail, &entry))
    if (json_is(entry, "type", type) && view_equal(json_get(entry, "invocationId"), invocation)) return true;
  return false;
}

static void read_on(account *a, view trail) {
  view entry = {0};
  while (json_next(trail, &entry)) a->read = strtoull(json_get(entry, "seq").at, NULL, 10);
}

/* What is wrong with an input, one line for each place. */
static void issues(view list) {
  view issue = {0};
  while (json_next(list, &issue)) {
    text what = {0};
    text_add(&what, "%.*s: ", SHOW(json_text(issue, "path")));
    text_add_plain(&what, json_text(issue, "message"));
    line("issue", text_view(&what));
    text_free(&what);
  }
}

static void refusal(account *a, view error) {
  view details = json_get(error, "details"), code = json_text(error, "code");
  bool asks = view_equal(code, view_of("CONFIRMATION_REQUIRED"));
  text why = {0};
  text_add(&why, "%.*s (retry: %.*s)", SHOW(code), SHOW(json_text(error, "retry")));
  line(asks ? "asks" : "refused", text_view(&why));
  line("because", json_text(error, "message"));
  if (json_get(details, "issues").at)
    issues(json_get(details, "issues"));
  else if (details.at && !asks) /* a question's details carry minted ids and times */
    line("details", details);
  text_free(&why);
  a->refused += !asks;
}

void account_result(account *a, view result, view deeds) {
  view invocation = json_get(result, "invocationId");
  as_blob entries = {0};
  if (as_audit_read(a->surface, a->read, &entries, NULL) != AS_OK) return;
  view trail = view_of_bytes(entries.ptr, entries.len);
  bool replayed = audited(trail, invocation, "invocation-replayed"), joined = audited(trail, invocation, "invocation-joined");
  read_on(a, trail);
  as_blob_free(&entries);

  while (deeds.len) { /* one deed a line */
    const char *end = memchr(deeds.at, '\n', deeds.len);
    size_t len = end ? (size_t)(end - deeds.at) : deeds.len;
    line("did", (view){deeds.at, len});
    len += end != NULL;
    deeds = (view){deeds.at + len, deeds.len - len};
  }
  if (joined) line("joined", view_of("the same call was in flight: one execution, one result for both"));
  if (replayed) line("replayed", view_of("answered from the record, nothing ran again"));
  a->joined += joined, a->replayed += replayed;

  view error = json_get(result, "error");
  if (error.at) {
    refusal(a, error);
    return;
  }
  a->ran += !replayed;
  line("ok", json_get(result, "output").at ? json_get(result, "output") : view_of("(no output)"));
}

void account_question(view pending) {
  text summary = {0};
  text_add_plain(&summary, json_text(pending, "summary"));
  line("console", text_view(&summary));
  line("will run", json_get(pending, "input"));
  text_free(&summary);
}

void account_decision(account *a, view decision) {
  bool approved = json_true(decision, "approved");
  text word = {0};
  text_add(&word, "%s by %.*s", approved ? "approved" : "denied", SHOW(json_text(decision, "approver")));
  line("decision", text_view(&word));
  text_free(&word);
  a->confirmed += approved;
}

void account_end(const account *a) {
  printf("\n%d calls: %d ran, %d joined, %d replayed, %d refused; %d approvals given\n", a->calls, a->ran, a->joined,
         a->replayed, a->refused, a->confirmed);
}
