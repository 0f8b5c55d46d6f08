# Programs and tools of the scripts in tests/preload.

PRELOAD_TOOLS := profiler observer relay
PRELOAD_PROGRAMS := $(filter-out $(PRELOAD_TOOLS),$(patsubst tests/preload/%.c,%,$(wildcard tests/preload/*.c)))

define preload_test_rules
$(BUILD)/test/$(1)/plain_%: tests/preload/plain_%.c
	@mkdir -p $$(@D)
	$$(call show,CC,$$<)$$(CC) $$(TEST_FLAGS) $$< -o $$@ -ldl
$(BUILD)/test/$(1)/%: tests/preload/%.c $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -lm -pthread
$(BUILD)/test/$(1)/%.linked: tests/preload/%.c $$(TEST_HEADERS) $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ $$(LINK_LIBRARY) -lm -pthread
# A tool to be preloaded, and one inside a program.
$(BUILD)/test/$(1)/%.so: tests/preload/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fPIC -shared $$< -o $$@
$(BUILD)/test/$(1)/onesided.profiled: tests/preload/onesided.c tests/preload/profiler.c $$(TEST_HEADERS)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$(filter %.c,$$^) -o $$@
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(PRELOAD_PROGRAMS) $$(PRELOAD_TOOLS:%=%.so) \
    onesided.linked onesided.profiled)
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call preload_test_rules,$(abi))))
