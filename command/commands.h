/* The subcommands that are written in C. Each gets its own name and arguments, terminated by NULL,
 * and returns its exit status. */
#ifndef MPIACCEL_COMMANDS_H
#define MPIACCEL_COMMANDS_H

/* Print the version, what this machine supports, and the settings. */
int command_info(int count, char **arguments);

/* Replace this process by a launcher or a program whose ranks run with the library preloaded. */
int command_run(int count, char **arguments);

/* Replace this process by the program of a subcommand, whose first argument is the path of this
 * command. Returns only if it cannot be started. */
int command_program(const char *name, char **arguments);

#endif
