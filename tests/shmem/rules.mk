# Programs that use <mpiaccel/shmem.h>: always linked with the library.

define shmem_test_rules
TESTS_SHMEM_$(1) := $$(patsubst tests/shmem/%.c,%.linked,$$(filter-out tests/shmem/own_%,$$(wildcard tests/shmem/*.c)))
$(BUILD)/test/$(1)/%.linked: tests/shmem/%.c tests/shmem/shmem_test.h include/mpiaccel/shmem.h $$(TEST_HEADERS) $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Iinclude -Itests/mpi $$< -o $$@ $$(LINK_LIBRARY) -lm -pthread
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(TESTS_SHMEM_$(1)))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call shmem_test_rules,$(abi))))
