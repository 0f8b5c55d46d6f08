/* Stands for the runtime of a GPU: only its name matters. */
int cuda_is_here = 1;
