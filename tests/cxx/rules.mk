# C++ programs, built by each MPI's mpicxx. The bindings of MPI-2 only where the MPI has them.
CXX_FLAGS := -std=c++14 -O1 -g -Wall -Wextra -Wno-cast-function-type $(STRICT)

define cxx_test_rules
MPICXX_$(1) := $$(wildcard $$(subst mpicc,mpicxx,$$(MPICC_$(1))))
CXX_TESTS_$(1) := $$(if $$(MPICXX_$(1)),cxx_threads cxx_threads.linked cxx_bindings cxx_leaves)
$(BUILD)/test/$(1)/cxx_%: tests/cxx/cxx_%.cpp tests/cxx/test.hpp $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICXX,$$< for $(1))$$(MPICXX_$(1)) $$(CXX_FLAGS) $$(if $$(filter bindings,$$*),,-DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX) $$< -o $$@ -pthread
$(BUILD)/test/$(1)/cxx_%.linked: tests/cxx/cxx_%.cpp tests/cxx/test.hpp $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $$(@D)
	$$(call show,MPICXX,$$< for $(1))$$(MPICXX_$(1)) $$(CXX_FLAGS) -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $$< -o $$@ $$(LINK_LIBRARY) -pthread
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(CXX_TESTS_$(1)))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call cxx_test_rules,$(abi))))
