# Programs of memory, life and death: some are tests of their own, some are run by the scripts here.

MEMORY_TOOLS := no_memfd
MEMORY_PROGRAMS := $(filter-out $(MEMORY_TOOLS),$(patsubst tests/memory/%.c,%,$(wildcard tests/memory/*.c)))

define memory_test_rules
$(BUILD)/test/$(1)/%: tests/memory/%.c $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -lm -pthread -rdynamic
$(BUILD)/test/$(1)/%.linked: tests/memory/%.c $$(TEST_HEADERS) $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ $$(LINK_LIBRARY)
$(BUILD)/test/$(1)/%.so: tests/memory/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(CC) $$(TEST_FLAGS) -fPIC -shared $$< -o $$@
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(MEMORY_PROGRAMS) host_copies.linked $$(MEMORY_TOOLS:%=%.so))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call memory_test_rules,$(abi))))
