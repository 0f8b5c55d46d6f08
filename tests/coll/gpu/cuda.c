/* Stands for a GPU's runtime by its name. */
int cuda_is_here = 1;
