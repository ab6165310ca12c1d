/* The smallest host there is, for what a program gets of the static library: one call. It tells whether the library takes patterns. */
#include <agent_surface.h>
#include <stdio.h>
#include <string.h>

#define TEXT(text) (const uint8_t *)(text), strlen(text)
#define BOX(input) "{\"type\":\"box\",\"description\":\"A box\",\"actions\":{\"poke\":{\"description\":\"Poke\",\"effect\":\"local-state\",\"input\":" input "}}}"
#define ANYTHING "{\"type\":\"object\"}"
#define PATTERN "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^a\"}}}"

static void poked(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  (void)user_data, (void)context, (void)context_len, (void)input, (void)input_len;
  as_reply_json(reply, TEXT("1"));
}

int main(void) {
  as_registry surface = 0;
  as_registration box = 0;
  as_blob result = {0, 0, 0}, err = {0, 0, 0};
  as_binding binding;
  as_code code;
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  binding.name = (const uint8_t *)"poke", binding.name_len = 4, binding.handler = poked;
  if (as_registry_new(NULL, 0, NULL, &surface, NULL) != AS_OK) return 1;
  code = as_register(surface, TEXT(BOX(PATTERN)), &binding, 1, &box, &err);
  printf("%s\n", code == AS_OK ? "patterns are taken" : (const char *)err.ptr);
  as_blob_free(&err);
  if (code == AS_OK) as_unregister(box);
  if (as_register(surface, TEXT(BOX(ANYTHING)), &binding, 1, &box, NULL) != AS_OK) return 2;
  if (as_invoke_wait(surface, TEXT("{\"capabilityId\":\"view:box.poke\"}"), NULL, 0, &result, NULL) != AS_OK) return 3;
  if (!strstr((const char *)result.ptr, "\"output\":1")) return 4;
  as_blob_free(&result), as_unregister(box);
  return as_registry_close(surface, -1, NULL) == AS_OK && as_registry_free(surface) == AS_OK ? 0 : 5;
}
