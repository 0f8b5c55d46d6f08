/* The version of this library: "0.2.0", or "0.2.0-dev.123+g1234567" between releases. */
#ifndef MPIACCEL_LIBRARY_VERSION_H
#define MPIACCEL_LIBRARY_VERSION_H

extern const char library_version[];

#endif
