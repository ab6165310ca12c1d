/* Deliberately wrong: passes a text that was freed. Under AddressSanitizer this must die inside the library, at the first
 * byte it looks at; if it does not, the sanitizer is not in the library, and every clean run meant nothing. */
#include <agent_surface.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  as_blob out = {NULL, 0, NULL};
  char *memory = (char *)malloc(128);
  memset(memory, ' ', 128);
  memory[64] = '1';
  free(memory);
  as_canonical_json((const uint8_t *)memory + 32, 64, &out, NULL); /* the bytes themselves are still good JSON */
  as_blob_free(&out);
  return 0;
}
