#include "play.h"
void stress(uint64_t seed, MPI_Comm comm) { (void)seed; (void)comm; }
