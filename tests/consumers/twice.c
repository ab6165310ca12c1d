/* The library loaded twice by two paths in one process: two libraries that know nothing of each other. */
#define _GNU_SOURCE
#include <agent_surface.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define TEXT(text) (const uint8_t *)(text), strlen(text)
#define BOX "{\"type\":\"box\",\"description\":\"A box\",\"actions\":{\"poke\":{\"description\":\"Poke\",\"effect\":\"local-state\",\"input\":{\"type\":\"object\"}}}}"

typedef struct library {
  void *opened;
  __typeof__(as_registry_new) *registry_new;
  __typeof__(as_registry_close) *registry_close;
  __typeof__(as_registry_free) *registry_free;
  __typeof__(as_registry_info) *registry_info;
  __typeof__(as_register) *register_component;
  __typeof__(as_unregister) *unregister;
  __typeof__(as_invoke_wait) *invoke_wait;
  __typeof__(as_reply_json) *reply_json;
  __typeof__(as_blob_free) *blob_free;
  as_registry surface;
  as_registration box;
  struct library *inner; /* whose box the handler pokes */
} library;

static void *function(library *l, const char *name) {
  void *found = dlsym(l->opened, name);
  if (!found) printf("%s: %s\n", name, dlerror());
  return found;
}

static int poke(library *l) {
  as_blob result = {0, 0, 0};
  as_code code = l->invoke_wait(l->surface, TEXT("{\"capabilityId\":\"view:box.poke\"}"), NULL, 0, &result, NULL);
  int sound = code == AS_OK && strstr((const char *)result.ptr, "\"output\":1") != NULL;
  l->blob_free(&result);
  return sound;
}

static void poked(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  library *l = user_data;
  (void)context, (void)context_len, (void)input, (void)input_len;
  if (!l->inner || poke(l->inner)) l->reply_json(reply, TEXT("1"));
}

static int open_library(library *l, const char *path) {
  as_binding binding;
  l->opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l->opened) return printf("%s\n", dlerror()), 0;
#define LOAD(member, name) *(void **)&l->member = function(l, name); if (!l->member) return 0
  LOAD(registry_new, "as_registry_new");
  LOAD(registry_close, "as_registry_close");
  LOAD(registry_free, "as_registry_free");
  LOAD(registry_info, "as_registry_info");
  LOAD(register_component, "as_register");
  LOAD(unregister, "as_unregister");
  LOAD(invoke_wait, "as_invoke_wait");
  LOAD(reply_json, "as_reply_json");
  LOAD(blob_free, "as_blob_free");
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  binding.name = (const uint8_t *)"poke", binding.name_len = 4;
  binding.user_data = l, binding.handler = poked;
  return l->registry_new(NULL, 0, NULL, &l->surface, NULL) == AS_OK &&
         l->register_component(l->surface, TEXT(BOX), &binding, 1, &l->box, NULL) == AS_OK;
}

static int close_library(library *l) {
  int sound = l->unregister(l->box) == AS_OK && l->registry_close(l->surface, -1, NULL) == AS_OK && l->registry_free(l->surface) == AS_OK;
  dlclose(l->opened);
  return sound;
}

int main(int argc, char **argv) {
  static library first, second;
  as_blob info = {0, 0, 0};
  if (argc != 3 || !open_library(&first, argv[1]) || !open_library(&second, argv[2])) return 2;
  if (first.registry_new == second.registry_new) return printf("one library, not two\n"), 3;
  first.inner = &second; /* a call of one inside a call of the other */
  if (!poke(&first) || !poke(&second)) return printf("a call failed\n"), 4;
  if (!close_library(&second)) return printf("the second does not close\n"), 5;
  if (second.registry_info(second.surface, &info, NULL) == AS_OK) return printf("the second is still there\n"), 6;
  first.inner = NULL;
  if (!poke(&first)) return printf("the first went with the second\n"), 7;
  return close_library(&first) ? 0 : 8;
}
