/* Whatever happens, the library writes nothing to standard output or error. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <stdio.h>
#include <unistd.h>

/* What a host gets wrong and what a handler gets wrong, in one go. */
static void a_bad_day(void) {
  probe p = {0};
  as_blob out = EMPTY_BLOB, err = EMPTY_BLOB;
  as_registry registry = 0, refused = 0;
  as_registration registration = 0;
  as_binding go = binding(&p, "go", answer_nothing);
  as_registry_new(NULL, 0, NULL, &registry, NULL);
  as_registry_new(TEXT("{\"limits\":7}"), NULL, &refused, &err);
  as_blob_free(&err);
  as_register(registry, TEXT("{\"type\":\"T\"}"), &go, 1, &registration, &err);
  as_blob_free(&err);
  as_register(registry, TEXT(GO), &go, 1, &registration, &err);
  as_blob_free(&err);
  as_invoke_wait(registry, TEXT(GO_REQUEST), NULL, 0, &out, &err); /* the handler never answers */
  as_blob_free(&out);
  as_invoke_wait(registry, TEXT("{\"capabilityId\":\"view:no.where\"}"), NULL, 0, &out, &err);
  as_blob_free(&out);
  as_invocation_wait(registry, 0, &out, &err);
  as_blob_free(&err);
  as_unregister(registration);
  as_registry_close(registry, -1, NULL);
  as_registry_free(registry);
  as_registry_free(registry);
}

/* AS-OBSV-002 */
TEST(nothing_is_printed) {
  FILE *file = tmpfile();
  int out = dup(1), err = dup(2);
  CHECK(file != NULL && out >= 0 && err >= 0);
  fflush(stdout);
  dup2(fileno(file), 1), dup2(fileno(file), 2);
  a_bad_day();
  dup2(out, 1), dup2(err, 2);
  CHECK(lseek(fileno(file), 0, SEEK_END) == 0);
  fclose(file), close(out), close(err);
}

SUITE(quiet, CASE(nothing_is_printed));
