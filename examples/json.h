/* As much JSON as the example needs: looking into text that the library wrote, and building small documents.
 * Documents from the library are canonical, so there is no white space to skip and nothing malformed to fear. */
#ifndef EXAMPLE_JSON_H
#define EXAMPLE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of somebody else's text. `at` is NULL where there is nothing. */
typedef struct view {
  const char *at;
  size_t len;
} view;

/* The two ways to hand a text to the library. */
#define TEXT(literal) (const uint8_t *)(literal), strlen(literal)
#define VIEW(v) (const uint8_t *)(v).at, (v).len
#define SHOW(v) (int)(v).len, (v).at /* for printf's "%.*s" */

view view_of(const char *text);
view view_of_bytes(const uint8_t *ptr, size_t len);
bool view_equal(view a, view b);

/* The value at a path of member names and array indexes: json_get(result, "error.code"). Strings come with quotes. */
view json_get(view document, const char *path);
/* The same without a string's quotes. */
view json_text(view document, const char *path);
bool json_is(view document, const char *path, const char *text);
bool json_true(view document, const char *path);

/* Walks an array: view item = {0}; while (json_next(array, &item)) … */
bool json_next(view array, view *item);

/* A text that grows. Start with {0}, end with text_free. */
typedef struct text {
  char *at;
  size_t len, room;
} text;

void text_add(text *t, const char *format, ...);
/* A JSON string as it reads: \" and \\ lose their escape, everything else keeps it. */
void text_add_plain(text *t, view string);
void text_free(text *t);
view text_view(const text *t);

#endif
