# Programs and tools of the scripts in tests/preload.

PRELOAD_TOOLS := profiler observer
PRELOAD_PROGRAMS := $(filter-out $(PRELOAD_TOOLS),$(patsubst tests/preload/%.c,%,$(wildcard tests/preload/*.c)))

define preload_test_rules
build/test/$(1)/plain_%: tests/preload/plain_%.c
	@mkdir -p $$(@D)
	$$(CC) $$(TEST_FLAGS) $$< -o $$@ -ldl
build/test/$(1)/%: tests/preload/%.c $$(TEST_HEADERS) build/config.mk
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -lm -pthread
build/test/$(1)/%.linked: tests/preload/%.c $$(TEST_HEADERS) $(LIB)
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ $$(LINK_PLUGIN) -lm -pthread
# A tool to be preloaded, and one inside a program.
build/test/$(1)/%.so: tests/preload/%.c build/config.mk
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) -fPIC -shared $$< -o $$@
build/test/$(1)/onesided.profiled: tests/preload/onesided.c tests/preload/profiler.c $$(TEST_HEADERS)
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$(filter %.c,$$^) -o $$@
tests: $$(addprefix build/test/$(1)/,$$(PRELOAD_PROGRAMS) $$(PRELOAD_TOOLS:%=%.so) \
    onesided.linked onesided.profiled)
endef
$(foreach abi,$(ABIS),$(eval $(call preload_test_rules,$(abi))))
