#include "core/concurrency.h"

bool thread_concurrent;
