/* A host in C that has nothing but the installed package: one capability, one call, everything given back. */
#include <agent_surface.h>
#include <agent_surface_dev.h>
#include <stdio.h>
#include <string.h>

#define TEXT(text) (const uint8_t *)(text), strlen(text)

static void greet(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  (void)user_data, (void)context, (void)context_len;
  as_reply_json(reply, input, input_len);
}

int main(void) {
  as_registry surface = 0;
  as_registration hall = 0;
  as_blob result = {0, 0, 0}, live = {0, 0, 0};
  as_binding binding;
  int sound;
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  binding.name = (const uint8_t *)"greet";
  binding.name_len = 5;
  binding.handler = greet;
  if (as_abi_version() != AS_ABI_VERSION) return 2;
  if (as_registry_new(NULL, 0, NULL, &surface, NULL) != AS_OK) return 3;
  if (as_register(surface, TEXT("{\"type\":\"hall\",\"description\":\"The entrance\",\"actions\":{\"greet\":{\"description\":\"Greet\","
                                "\"effect\":\"local-state\",\"input\":{\"type\":\"object\"}}}}"), &binding, 1, &hall, NULL) != AS_OK) return 4;
  if (as_invoke_wait(surface, TEXT("{\"capabilityId\":\"view:hall.greet\",\"input\":{\"n\":1}}"), NULL, 0, &result, NULL) != AS_OK) return 5;
  sound = strstr((const char *)result.ptr, "\"output\":{\"n\":1}") != NULL;
  as_blob_free(&result);
  as_unregister(hall);
  if (as_registry_close(surface, -1, NULL) != AS_OK || as_registry_free(surface) != AS_OK) return 6;
  as_dev_live(&live);
  sound = sound && strstr((const char *)live.ptr, "\"binding\":0") && strstr((const char *)live.ptr, "\"registry\":0");
  printf("%s %s\n", as_version(), sound ? "sound" : "broken");
  as_blob_free(&live);
  return sound ? 0 : 1;
}
