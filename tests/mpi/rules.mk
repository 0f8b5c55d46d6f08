# Each program of tests/mpi is built for each MPI, by that MPI's compiler, knowing nothing of us.

TEST_FLAGS := -std=gnu11 -O1 -g -Wall -Wextra $(STRICT)
TEST_HEADERS := $(wildcard tests/mpi/*.h)
# Linked with the plugin instead of preloaded: before the MPI's library, as -lmpiaccel.
LINK_PLUGIN = -Lbuild/lib -Wl,--no-as-needed -lmpiaccel -Wl,-rpath,$(abspath build/lib)

define mpi_test_rules
TESTS_$(1) += $$(patsubst tests/mpi/%.c,build/test/$(1)/%,$$(wildcard tests/mpi/*.c))
ifneq ($$(MPIFORT_$(1)),)
TESTS_$(1) += $$(patsubst tests/mpi/%.f90,build/test/$(1)/%,$$(wildcard tests/mpi/*.f90))
endif
build/test/$(1)/%: tests/mpi/%.c $$(TEST_HEADERS) build/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ -lm -pthread
build/test/$(1)/%.linked: tests/mpi/%.c $$(TEST_HEADERS) $(LIB)
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ $$(LINK_PLUGIN) -lm -pthread
build/test/$(1)/%: tests/mpi/%.f90 build/config.mk
	@mkdir -p $$(@D) build/test/$(1)/mod.$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O1 -g -J build/test/$(1)/mod.$$* $$< -o $$@
build/test/$(1)/%.linked: tests/mpi/%.f90 $(LIB)
	@mkdir -p $$(@D) build/test/$(1)/mod.$$*.linked
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O1 -g -J build/test/$(1)/mod.$$*.linked $$< -o $$@ $$(LINK_PLUGIN)
tests: $$(TESTS_$(1))
endef
$(foreach abi,$(ABIS),$(eval $(call mpi_test_rules,$(abi))))
