/* A readable account of what became of each call: what ran, what was joined, replayed, refused or confirmed, and why. */
#ifndef EXAMPLE_ACCOUNT_H
#define EXAMPLE_ACCOUNT_H

#include <agent_surface.h>

#include "json.h"

typedef struct account {
  as_registry surface;
  uint64_t read;                                          /* the last audit entry that was read */
  int calls, ran, joined, replayed, confirmed, refused;   /* for the last line */
} account;

void account_heading(view say);
void account_call(account *a, view consumer, view request);
/* What the runtime and the application say about it. `deeds` is the application's own word. */
void account_result(account *a, view result, view deeds);
/* The question as the person at the console sees it, and the decision. */
void account_question(view pending);
void account_decision(account *a, view decision);
void account_end(const account *a);

#endif
