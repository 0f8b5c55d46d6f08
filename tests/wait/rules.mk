# Programs that wait: some are tests of their own, some are run by the scripts here.

WAIT_PROGRAMS := $(patsubst tests/wait/%.c,%,$(wildcard tests/wait/*.c))

define wait_test_rules
$(BUILD)/test/$(1)/%: tests/wait/%.c $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -lm -pthread -rdynamic
$(BUILD)/test/$(1)/wait_calls.linked: tests/wait/wait_calls.c $$(TEST_HEADERS) $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ $$(LINK_LIBRARY)
tests: $$(WAIT_PROGRAMS:%=$(BUILD)/test/$(1)/%) $(BUILD)/test/$(1)/wait_calls.linked
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call wait_test_rules,$(abi))))
