/* Settings of the host that this library chooses. They are in the environment only while the host
 * initializes, so that neither the program nor its children see them.
 */
#ifndef MPIACCEL_HOST_SETTINGS_H
#define MPIACCEL_HOST_SETTINGS_H

/* Set an environment variable for the host. Call before the host is initialized, for a variable
 * that is not in the environment. */
void host_settings_choose(const char *name, const char *value);

/* Call when the host has been initialized, or could not be. */
void host_settings_end(void);

#endif
