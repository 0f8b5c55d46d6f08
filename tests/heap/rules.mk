# Programs whose malloc uses the shared heap.

define heap_test_rules
$(BUILD)/test/$(1)/malloc_%: tests/heap/malloc_%.c tests/heap/where.h $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fno-builtin -Itests/mpi $$< -o $$@ -pthread -ldl
tests: $$(patsubst tests/heap/%.c,$(BUILD)/test/$(1)/%,$$(wildcard tests/heap/malloc_*.c))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call heap_test_rules,$(abi))))
