/* Deliberately wrong: says that a text of 3 bytes has 64. Run under AddressSanitizer this must die inside the library; if it
 * does not, the sanitizer is not in the library, and every clean run meant nothing. */
#include <agent_surface.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  as_blob out = {0};
  uint8_t *text = (uint8_t *)malloc(3);
  memcpy(text, "[1]", 3);
  as_canonical_json(text, 64, &out, NULL);
  as_blob_free(&out);
  free(text);
  return 0;
}
