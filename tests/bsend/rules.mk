# Each program of tests/bsend is built for each MPI, as those of tests/mpi are. The Fortran one is
# compiled for each of the language's bindings: bsend_fortran_MPIFH and so on. One is a tool.

define bsend_test_rules
TESTS_BSEND_$(1) := $$(patsubst tests/bsend/%.c,%,$$(wildcard tests/bsend/bsend_*.c)) finalizes.so
$(BUILD)/test/$(1)/%.so: tests/bsend/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fPIC -shared $$< -o $$@
$(BUILD)/test/$(1)/%: tests/bsend/%.c $$(wildcard tests/bsend/*.h) $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -pthread
ifneq ($$(MPIFORT_$(1)),)
TESTS_BSEND_$(1) += $$(addprefix bsend_fortran_,MPIFH MODULE F08)
$(BUILD)/test/$(1)/bsend_fortran_%: tests/bsend/buffered.F90 tests/fortran/harness.inc $(BUILD)/config.mk
	@mkdir -p $(BUILD)/test/$(1)/mod.bsend.$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) $$(FORTRAN_FLAGS) -D$$* -J $(BUILD)/test/$(1)/mod.bsend.$$* $$< -o $$@
endif
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(TESTS_BSEND_$(1)))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call bsend_test_rules,$(abi))))
