#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

view view_of(const char *text) { return (view){text, strlen(text)}; }

view view_of_bytes(const uint8_t *ptr, size_t len) { return (view){(const char *)ptr, len}; }

bool view_equal(view a, view b) { return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0); }

/* Where the value that starts at `p` ends. */
static const char *after_value(const char *p, const char *end) {
  int depth = 0;
  do {
    if (*p == '"') {
      for (p++; p < end && *p != '"'; p++)
        if (*p == '\\') p++;
      p++;
    } else if (*p == '{' || *p == '[') {
      depth++, p++;
    } else if (*p == '}' || *p == ']') {
      depth--, p++;
    } else if (*p == ',' || *p == ':') {
      p++;
    } else {
      while (p < end && !strchr(",:]}", *p)) p++;
    }
  } while (p < end && depth > 0);
  return p;
}

/* The member called `name`, or the element of that index. */
static view child(view parent, view name) {
  const char *p = parent.at + 1, *end = parent.at + parent.len;
  bool object = parent.len > 0 && parent.at[0] == '{', array = parent.len > 0 && parent.at[0] == '[';
  if (!object && !array) return (view){0};
  long index = array ? strtol(name.at, NULL, 10) : -1;
  while (p < end && *p != '}' && *p != ']') {
    view key = {0};
    if (object) {
      const char *stop = after_value(p, end);
      key = (view){p + 1, (size_t)(stop - p) - 2};
      p = stop + 1;
    }
    const char *stop = after_value(p, end);
    if (object ? view_equal(key, name) : index-- == 0) return (view){p, (size_t)(stop - p)};
    p = *stop == ',' ? stop + 1 : stop;
  }
  return (view){0};
}

view json_get(view document, const char *path) {
  while (document.at && *path) {
    size_t len = strcspn(path, ".");
    document = child(document, (view){path, len});
    path += len + (path[len] == '.');
  }
  return document;
}

view json_text(view document, const char *path) {
  view value = json_get(document, path);
  return value.len >= 2 && value.at[0] == '"' ? (view){value.at + 1, value.len - 2} : value;
}

bool json_is(view document, const char *path, const char *text) {
  return view_equal(json_text(document, path), view_of(text));
}

bool json_true(view document, const char *path) { return view_equal(json_get(document, path), view_of("true")); }

bool json_next(view array, view *item) {
  if (array.len < 2) return false;
  const char *end = array.at + array.len - 1, *p = item->at ? item->at + item->len + 1 : array.at + 1;
  if (p >= end) return false;
  *item = (view){p, (size_t)(after_value(p, end) - p)};
  return true;
}

void text_add(text *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t more = (size_t)vsnprintf(NULL, 0, format, args);
  if (t->len + more + 1 > t->room) {
    t->room = 2 * (t->len + more + 1);
    t->at = realloc(t->at, t->room);
    if (!t->at) abort();
  }
  vsnprintf(t->at + t->len, more + 1, format, again);
  t->len += more;
  va_end(again);
  va_end(args);
}

void text_add_plain(text *t, view string) {
  for (size_t i = 0; i < string.len; i++) {
    if (string.at[i] == '\\' && i + 1 < string.len && strchr("\"\\/", string.at[i + 1])) i++;
    text_add(t, "%c", string.at[i]);
  }
}

void text_free(text *t) {
  free(t->at);
  *t = (text){0};
}

view text_view(const text *t) { return (view){t->at, t->len}; }
