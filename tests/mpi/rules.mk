# Each program of tests/mpi is built for each MPI, by that MPI's compiler, knowing nothing of us.

TEST_FLAGS := -std=gnu11 -O1 -g -Wall -Wextra $(STRICT)
TEST_HEADERS := $(wildcard tests/mpi/*.h)
# linked with the library instead of preloaded: before the MPI's library, as -lmpiaccel.
LINK_LIBRARY = -L$(BUILD)/lib -Wl,--no-as-needed -lmpiaccel -Wl,-rpath,$(abspath $(BUILD)/lib)

define mpi_test_rules
TESTS_$(1) += $$(patsubst tests/mpi/%.c,$(BUILD)/test/$(1)/%,$$(wildcard tests/mpi/*.c))
ifneq ($$(MPIFORT_$(1)),)
TESTS_$(1) += $$(patsubst tests/mpi/%.f90,$(BUILD)/test/$(1)/%,$$(wildcard tests/mpi/*.f90))
endif
$(BUILD)/test/$(1)/%: tests/mpi/%.c $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ -lm -pthread
$(BUILD)/test/$(1)/%.linked: tests/mpi/%.c $$(TEST_HEADERS) $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ $$(LINK_LIBRARY) -lm -pthread
$(BUILD)/test/$(1)/%: tests/mpi/%.f90 $(BUILD)/config.mk
	@mkdir -p $$(@D) $(BUILD)/test/$(1)/mod.$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O1 -g -J $(BUILD)/test/$(1)/mod.$$* $$< -o $$@
$(BUILD)/test/$(1)/%.linked: tests/mpi/%.f90 $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D) $(BUILD)/test/$(1)/mod.$$*.linked
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O1 -g -J $(BUILD)/test/$(1)/mod.$$*.linked $$< -o $$@ $$(LINK_LIBRARY)
tests: $$(TESTS_$(1))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call mpi_test_rules,$(abi))))
