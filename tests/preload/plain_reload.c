/* Loads a plug-in that uses MPI, calls its function `run`, and unloads it, three times. Argument:
 * the plug-in. Exits with 0 if all calls return 1. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int life = 0; life < 3; life++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | (life == 1 ? RTLD_GLOBAL : RTLD_LOCAL));
        int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;
        int result = run ? run() : -1;
        if (result != 1) {
            fprintf(stderr, "life %d: %d %s\n", life, result, run ? "" : dlerror());
            return 1;
        }
        dlclose(plugin);
    }
    return 0;
}
