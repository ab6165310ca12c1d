/* The application: a console for a small fleet of devices. It knows nothing of agents; fleet_offer() says what of it an
 * agent may see and call. */
#ifndef EXAMPLE_FLEET_APP_H
#define EXAMPLE_FLEET_APP_H

#include <agent_surface.h>
#include <stdbool.h>

#include "json.h"

typedef struct fleet fleet;

fleet *fleet_new(void);
void fleet_free(fleet *app);

/* Registers the device table and the procedure that disables devices. Complains on stderr where that fails. */
bool fleet_offer(fleet *app, as_registry surface);

/* `refresh` asks the devices and answers when their reports are in: this is the network, delivering them. Waits for the
 * question where it has not been put yet. */
void fleet_reports_arrive(fleet *app);

/* Appends what the application really did since it was asked last, one deed a line. */
void fleet_take_deeds(fleet *app, text *out);

/* The callback table of the console itself: who sits at it, and where the operator's log goes. */
as_hooks_host fleet_console(fleet *app);

#endif
