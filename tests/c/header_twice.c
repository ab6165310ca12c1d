/* The headers stand alone, and may be included twice and in two files of one program. */
#include <agent_surface_dev.h>
#include <agent_surface.h>
#include <agent_surface.h>
#include <agent_surface_dev.h>

#ifndef AGENT_SURFACE_H
#error "no include guard"
#endif

typedef int a_file_is_not_empty;
