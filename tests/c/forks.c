/* fork(): in the child every inherited handle says so at once, and a new registry works. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void in_the_child(as_registry registry, as_invocation call, const probe *inherited) {
  as_blob out = EMPTY_BLOB;
  probe p = {0};
  REFUSED(AS_E_FORKED, "", as_invoke_wait(registry, TEXT(GO_REQUEST), NULL, 0, &out, &err));
  REFUSED(AS_E_FORKED, "", as_snapshot(registry, NULL, 0, &out, &err));
  REFUSED(AS_E_FORKED, "", as_registry_close(registry, -1, &err));
  REFUSED(AS_E_FORKED, "", as_invocation_wait(call, -1, &out, &err));
  CHECK_CODE(AS_E_FORKED, as_registration_invalidate(inherited->registration));
  CHECK_CODE(AS_E_FORKED, as_reply_json(inherited->reply, TEXT("null")));
  CHECK_CODE(AS_E_FORKED, as_dev_quiesce(registry, -1, NULL));
  CHECK_CODE(AS_OK, as_invocation_free(call)); /* leaks on purpose */
  CHECK_CODE(AS_OK, as_unregister(inherited->registration));
  CHECK_CODE(AS_OK, as_registry_free(registry));
  CHECK_CODE(AS_OK, as_canonical_json(TEXT("[1]"), &out, NULL)); /* what needs no registry works */
  as_blob_free(&out);
  CHECK(probe_destroyed(inherited) == 0);

  as_registry fresh = 0;
  as_registration thing = 0;
  as_binding go = binding(&p, "go", answer_null);
  CHECK_CODE(AS_OK, as_registry_new(NULL, 0, NULL, &fresh, NULL));
  CHECK_CODE(AS_OK, as_register(fresh, TEXT(GO), &go, 1, &thing, NULL));
  GO_GIVES(fresh, "\"status\":\"ok\"");
  CHECK_CODE(AS_OK, as_unregister(thing));
  CHECK_CODE(AS_OK, as_registry_close(fresh, -1, NULL));
  CHECK_CODE(AS_OK, as_registry_free(fresh));
  CHECK(probe_calls(&p) == 1);
  CHECK(probe_destroyed(&p) == 1);
}

TEST(a_child_is_told_and_starts_anew) {
  probe p = {0};
  int result[2], failures = -1; /* over a pipe: what the child leaks on purpose makes a leak checker change its exit status */
  as_registry registry = world_with(&p, pend);
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  CHECK(pipe(result) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    in_the_child(registry, call, &p);
    fflush(stdout);
    failures = check_failures();
    _exit(write(result[1], &failures, sizeof failures) != sizeof failures);
  }
  close(result[1]);
  CHECK(child > 0 && read(result[0], &failures, sizeof failures) == sizeof failures);
  CHECK(failures == 0);
  CHECK(waitpid(child, NULL, 0) == child);
  close(result[0]);
  CHECK_CODE(AS_OK, as_reply_json(p.reply, TEXT("{\"in\":\"the parent\"}"))); /* which noticed nothing */
  RESULT_GIVES(call, "\"in\":\"the parent\"");
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

SUITE(forks, CASE(a_child_is_told_and_starts_anew));
