/* What registries cost that do nothing: threads, memory, wake-ups. One line for each check, a last one with the counts. */
#define _GNU_SOURCE
#include <agent_surface.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT(text) (const uint8_t *)(text), strlen(text)
#define MANY 100
#define PULL "{\"dispatch\":\"pull\"}"
#define BOX                                                                                                                                    \
  "{\"type\":\"box\",\"description\":\"A box\",\"actions\":{\"poke\":{\"description\":\"Poke\",\"effect\":\"local-state\",\"input\":{\"type\":" \
  "\"object\"}},\"wait\":{\"description\":\"Wait\",\"effect\":\"local-state\",\"input\":{\"type\":\"object\"}}}}"

static int passed, failed;

static void check(int holds, const char *what, long seen) {
  printf("%s %s: %ld\n", holds ? "ok" : "FAIL", what, seen);
  *(holds ? &passed : &failed) += 1;
}

static void must(as_code code, const char *what) {
  if (code == AS_OK) return;
  printf("FAIL %s: code %d\n0 passed, 1 failed\n", what, (int)code);
  exit(1);
}
#define MUST(call) must((call), #call)

/* ---- what the system says ------------------------------------------------------------------------------------------------- */

static long number_in(const char *path, const char *before) {
  char line[256];
  long number = 0;
  FILE *file = fopen(path, "r");
  if (!file) return 0; /* a thread that has just ended */
  while (fgets(line, sizeof line, file))
    if (strncmp(line, before, strlen(before)) == 0) number = atol(line + strlen(before));
  fclose(file);
  return number;
}

/* Memory of its own; the library's code is one file for all processes. */
static long own(void) { return number_in("/proc/self/status", "RssAnon:") * 1024; }
static long threads(void) { return number_in("/proc/self/status", "Threads:"); }

/* How often threads other than this one went to sleep, which is how often they had been woken. */
static long sleeps(void) {
  long sum = 0;
  char path[320];
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *task;
  while ((task = readdir(tasks))) {
    if (task->d_name[0] == '.' || atol(task->d_name) == (long)getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    sum += number_in(path, "voluntary_ctxt_switches:");
  }
  closedir(tasks);
  return sum;
}

static void pause_ms(long ms) {
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

/* ---- a host ----------------------------------------------------------------------------------------------------------------- */

static void poked(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  (void)user_data, (void)context, (void)context_len, (void)input, (void)input_len;
  as_reply_json(reply, TEXT("1"));
}

static as_reply waiting;
static pthread_barrier_t asked;

static void waits(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  (void)user_data, (void)context, (void)context_len, (void)input, (void)input_len;
  as_reply_defer(reply);
  waiting = reply;
  pthread_barrier_wait(&asked);
}

static as_registration add_box(as_registry registry) {
  as_registration box = 0;
  as_binding bindings[2];
  memset(bindings, 0, sizeof bindings);
  bindings[0].struct_size = bindings[1].struct_size = sizeof bindings[0];
  bindings[0].name = (const uint8_t *)"poke", bindings[0].name_len = 4, bindings[0].handler = poked;
  bindings[1].name = (const uint8_t *)"wait", bindings[1].name_len = 4, bindings[1].handler = waits;
  MUST(as_register(registry, TEXT(BOX), bindings, 2, &box, NULL));
  return box;
}

static void *pulls(void *registry) {
  as_blob none = {0, 0, 0};
  as_next(*(as_registry *)registry, -1, &none, NULL);
  as_blob_free(&none);
  return NULL;
}

int main(void) {
  as_registry registries[MANY] = {0}, pulled = 0;
  as_invocation call = 0, held = 0;
  as_blob result = {0, 0, 0};
  pthread_t puller;
  long alone = threads(), of_one, of_many, woken = 1, before = own();
  pthread_barrier_init(&asked, NULL, 2);

  MUST(as_registry_new(NULL, 0, NULL, &registries[0], NULL));
  of_one = threads();
  check(of_one > alone, "threads of the one pool", of_one - alone);
  check(own() - before < 1000000, "bytes of the first registry, the pool with it", own() - before);

  before = own();
  for (int i = 1; i < MANY; ++i) MUST(as_registry_new(NULL, 0, NULL, &registries[i], NULL));
  of_many = threads();
  check(of_many == of_one, "threads of 99 further registries", of_many - of_one);
  check((own() - before) / (MANY - 1) < 1000000, "bytes of each of them", (own() - before) / (MANY - 1));

  /* Idle, but not untouched: a call is over, another waits for its handler's answer, and a thread waits for work to pull. */
  as_registration box = add_box(registries[0]);
  MUST(as_invoke(registries[0], TEXT("{\"capabilityId\":\"view:box.poke\"}"), NULL, 0, NULL, &call, NULL));
  MUST(as_invocation_wait(call, -1, &result, NULL));
  as_blob_free(&result), as_invocation_free(call);
  MUST(as_invoke(registries[0], TEXT("{\"capabilityId\":\"view:box.wait\"}"), NULL, 0, NULL, &held, NULL));
  pthread_barrier_wait(&asked);
  MUST(as_registry_new(TEXT(PULL), NULL, &pulled, NULL));
  pthread_create(&puller, NULL, pulls, &pulled);
  /* What followed from the calls may take a while on a busy machine; whatever ticks, ticks in every span. */
  for (int span = 0; span < 20 && woken; ++span) {
    before = sleeps();
    pause_ms(300);
    woken = sleeps() - before;
  }
  check(woken == 0, "wake-ups of idle threads in 300 ms", woken);

  as_reply_json(waiting, TEXT("1"));
  MUST(as_invocation_wait(held, -1, &result, NULL));
  check(strstr((const char *)result.ptr, "\"output\":1") != NULL, "the call that waited has ended", 1);
  as_blob_free(&result), as_invocation_free(held);
  as_unregister(box);
  MUST(as_registry_close(pulled, -1, NULL));
  pthread_join(puller, NULL);
  as_registry_free(pulled);
  for (int i = 0; i < MANY; ++i) as_registry_close(registries[i], -1, NULL), as_registry_free(registries[i]);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
