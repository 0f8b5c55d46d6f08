/* JSON for programs. */
#ifndef MPIACCEL_JSON_H
#define MPIACCEL_JSON_H

#include "core/base.h"

#include <stdio.h>

/* Print a string in quotes. Strings come from hosts, files and command lines, and may contain any
 * byte. One that belongs to no character of UTF-8, as in names of files in Latin-1, is written as
 * \u00XX. */
void json_string(FILE *out, const char *text);

#endif
